"""`cfnode run --checkpoint`: what is taken, and what is refused in words."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import lifetime
from cfnode.cli.exits import CommandFailure
from cfnode.cli.run import run
from cfnode.node.config import Checkpoint, Config
from cfnode.node.sync.warping.checkpoint import BadCheckpoint
from cfnode.runtime.calls import UnsupportedCode

HASH = "5e1f" * 16


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """Return the configurations of nodes that would have run."""
    configs: list[Config] = []
    monkeypatch.setattr(lifetime, "run_until_stopped", lambda config, dev, ignored: configs.append(config))
    return configs


def given(*flags: str) -> Result:
    """Run `run --tmp` with flags; the fixture keeps the node from starting."""
    return CliRunner().invoke(run, ["--tmp", *flags])


@pytest.mark.parametrize("prefix", ["", "0x"])
def test_a_hash_and_the_id_of_the_set_it_starts(started: list[Config], prefix: str) -> None:
    """Take a block's hash, with 0x or without, and the id of the authority set that begins there."""
    assert given(f"--checkpoint={prefix}{HASH}:1234").exit_code == 0
    assert started[0].checkpoint == Checkpoint(bytes.fromhex(HASH), 1234)


def test_without_one_proofs_begin_at_genesis(started: list[Config]) -> None:
    """Configure no checkpoint by default: warp proofs then begin at genesis."""
    assert given().exit_code == 0
    assert started[0].checkpoint is None


@pytest.mark.parametrize(
    "value", [HASH, f"{HASH}:", f"{HASH[:-1]}:7", f"{HASH}:-7", f"{HASH}:7:7", ":7", "7"]
)
def test_a_malformed_checkpoint_is_refused_with_an_example(started: list[Config], value: str) -> None:
    """Refuse a checkpoint with a part missing, too short, negative or too many, and give an example."""
    done = given(f"--checkpoint={value}")
    assert done.exit_code == 2
    assert "is not BLOCK_HASH:SET_ID: write it as in 0x5e1f…9a:1234" in done.output
    assert not started


@pytest.mark.parametrize("set_id", ["0", str(1 << 64)])
def test_a_set_that_no_block_starts_is_refused(started: list[Config], set_id: str) -> None:
    """Refuse set 0, which begins at genesis, and a set beyond 64 bits."""
    done = given(f"--checkpoint={HASH}:{set_id}")
    assert done.exit_code == 2
    assert f"no block starts authority set {set_id}: give a SET_ID from 1 to 2^64 - 1" in done.output


@pytest.mark.parametrize("other", ["--dev", "--sync=full"])
def test_it_needs_a_state_that_is_downloaded(started: list[Config], other: str) -> None:
    """Refuse a checkpoint for a node that downloads no state, and name the flags that do."""
    done = given(f"--checkpoint={HASH}:7", other)
    assert done.exit_code == 2
    assert "--checkpoint needs a downloaded state: add --sync=light-rpc or --sync=warp" in done.output


@pytest.mark.parametrize(
    "error", [BadCheckpoint("block #7 changes nothing"), UnsupportedCode("another runtime")]
)
def test_an_error_that_ends_a_running_node_is_one_line_with_exit_code_3(error: Exception) -> None:
    """It comes out of nurseries within nurseries."""
    with pytest.raises(CommandFailure) as caught, lifetime.start_failures(Config(Path("unused"))):
        raise ExceptionGroup("outer", [ExceptionGroup("inner", [error])])
    assert caught.value.exit_code == 3
    assert caught.value.message.startswith(str(error))
