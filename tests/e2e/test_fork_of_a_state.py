"""The state of a running chain becomes a chain of one's own: same runtime, same data, other authorities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfnode.core.aura import SLOT_MS
from cfnode.core.chainspec import genesis_header, parse
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.keys import Keypair
from cfnode.core.scale.metadata import decode_metadata
from cfnode.core.ss58 import encode
from cfnode.core.state import TIMESTAMP_NOW
from cfnode.devchain.runtime.release_names import RELEASE_NAMES
from tests.e2e.conftest import Cfnode
from tests.lengths import only_whole
from tests.process import NodeProcess, running_node

pytestmark = pytest.mark.world

BOB = Keypair.from_suri("//Bob")
DAY_MS = 24 * 3_600_000
FLAGS = ("--dev", "--dev-seal=manual", "--no-prometheus")


def remark(node: NodeProcess) -> None:
    """Make a block with a signed remark of //Bob; final."""
    metadata = decode_metadata(bytes.fromhex(node.call("state_getMetadata")[2:]))
    genesis = bytes.fromhex(node.call("chain_getBlockHash", 0)[2:])
    version = node.call("state_getRuntimeVersion")
    call = metadata.call_codec.encode(("System", ("remark", {"remark": b"here I was"})))
    extrinsic = sign_extrinsic(
        metadata, call, BOB, nonce=nonce_of_bob(node), era=IMMORTAL, era_hash=genesis, genesis_hash=genesis,
        spec_version=version["specVersion"], transaction_version=version["transactionVersion"],
    )  # fmt: skip
    node.call("author_submitExtrinsic", f"0x{extrinsic.hex()}")
    node.call("dev_newBlock", {"finalize": True})


def nonce_of_bob(node: NodeProcess) -> int:
    """Return the next nonce of //Bob."""
    return int(node.call("system_accountNextIndex", encode(BOB.public)))


def time_of_best(node: NodeProcess) -> int:
    """Return the time of the best block, Unix milliseconds."""
    return int.from_bytes(
        bytes.fromhex(node.call("state_getStorage", f"0x{TIMESTAMP_NOW.hex()}")[2:]), "little"
    )


def said(node: NodeProcess) -> dict[str, Any]:
    """Return the answers that both chains have to give alike."""
    return {
        "version": node.call("state_getRuntimeVersion"),
        "nonce": nonce_of_bob(node),
        "funds": node.call("cf_account_info", encode(BOB.public))["flip_balance"],
    }


*OLDER, NEWEST = RELEASE_NAMES


@pytest.fixture(params=[*(pytest.param(name, marks=only_whole) for name in OLDER), NEWEST, "berghain"])
def spec(request: pytest.FixtureRequest, tmp_path: Path, cfnode: Cfnode) -> Path:
    """Return a chain of //Alice and //Bob, of each release in Python, and in the official WebAssembly."""
    path = tmp_path / "spec.json"
    if request.param in RELEASE_NAMES:
        flags = "--dev-authorities=2", f"--dev-runtime={request.param}"
        made = cfnode("export-chain-spec", "--dev", *flags, "-o", str(path))
    else:
        official = request.getfixturevalue("berghain_spec")
        made = cfnode("build-spec", "--chain", str(official), "-o", str(path))
    assert made.returncode == 0, made.stderr
    return path


@pytest.fixture
def original(spec: Path, tmp_path: Path) -> Iterator[NodeProcess]:
    """Yield the chain that is copied."""
    flags = "--dev-authorities=//Alice,//Bob", f"--base-path={tmp_path / 'original'}"
    with running_node(tmp_path, f"--chain={spec}", *FLAGS, *flags) as node:
        yield node


def test_a_fork_goes_on_from_the_data_of_the_other_chain(
    original: NodeProcess, spec: Path, tmp_path: Path, cfnode: Cfnode
) -> None:
    """Export one state from database and node, and continue it as a chain with other authorities."""
    for _ in range(2):
        remark(original)
    time_before = time_of_best(original)
    before, head = said(original), original.call("chain_getHeader", original.call("chain_getFinalizedHead"))
    assert before["nonce"] == 2
    from_database, from_node, mine = (tmp_path / f"{name}.json" for name in ("database", "node", "mine"))
    for source, path in (
        (f"--base-path={tmp_path / 'original'}", from_database),
        (f"--url={original.url}", from_node),
    ):
        done = cfnode("export-state", f"--chain={spec}", source, "-o", str(path))
        assert done.returncode == 0, done.stderr
        assert done.stderr.startswith(f"block #{int(head['number'], 16)} (")
    assert from_database.read_bytes() == from_node.read_bytes()
    exported = genesis_header(parse(from_database.read_bytes(), "exported"))
    assert f"0x{exported.state_root.hex()}" == head["stateRoot"]
    done = cfnode("build-spec", "--chain", str(from_database), "--dev-authorities=//Alice", "-o", str(mine))
    assert done.returncode == 0, done.stderr
    listed = set(done.stderr.splitlines())
    assert {"System.Number: 1 removed, 0 written", "Aura.CurrentSlot: 1 removed, 0 written"} <= listed
    seen_slots = "AuraSlotExtraction.LastSeenSlot: 1 removed, 0 written"  # kept by the official runtime alone
    assert (seen_slots in listed) == (before["version"]["specVersion"] == 100)
    with running_node(
        tmp_path, f"--chain={mine}", *FLAGS, "--dev-authorities=//Alice", "--tmp", log_name="fork.log"
    ) as fork:
        assert said(fork) == before
        assert fork.call("chain_getBlockHash", 0) != original.call("chain_getBlockHash", 0)
        for number in (1, 2):
            remark(fork)
            assert int(fork.call("chain_getHeader")["number"], 16) == number
            assert time_of_best(fork) == (time_before // SLOT_MS + number) * SLOT_MS
        assert nonce_of_bob(fork) == 4
        assert fork.call("chain_getFinalizedHead") == fork.call("chain_getBlockHash")
    present = "--dev-start-time=now", "--dev-authorities=//Alice", "--tmp"
    with running_node(tmp_path, f"--chain={mine}", *FLAGS, *present, log_name="present.log") as fork:
        remark(fork)  # a year after the state's last block
        assert int(fork.call("chain_getHeader")["number"], 16) == 1
        assert time_of_best(fork) > time_before + 360 * DAY_MS


def test_without_a_whole_state_there_is_nothing_to_export(tmp_path: Path, cfnode: Cfnode) -> None:
    """Export nothing where no whole state is, with the reason, and leave no file."""
    base = f"--base-path={tmp_path / 'base'}"
    missing = cfnode("export-state", "--chain=berghain", base)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "run a node of this chain with this --base-path first" in missing.stderr
    with running_node(tmp_path, "--chain=berghain", "--reserved-only", base) as node:
        syncing = cfnode("export-state", "--chain=berghain", base)
        asked = cfnode("export-state", "--chain=berghain", f"--url={node.url}", "-o", str(tmp_path / "out"))
    assert syncing.returncode == 4
    assert "no state of its last final block, #0: the node is still syncing" in syncing.stderr
    assert asked.returncode == 1
    assert "State already discarded" in asked.stderr
    assert not (tmp_path / "out").exists()


def test_a_jump_of_a_week_takes_a_block_a_day_in_the_official_runtime(
    berghain_spec: Path, tmp_path: Path, cfnode: Cfnode
) -> None:
    """Jump a week in eight blocks in the official runtime, which reports each missed slot."""
    mine = tmp_path / "mine.json"
    made = cfnode("build-spec", f"--chain={berghain_spec}", "-o", str(mine))
    assert "Reputation.Penalties: 1 removed, 1 written" in made.stderr.splitlines()
    flags = (
        f"--chain={mine}",
        *FLAGS,
        "--dev-authorities=//Alice,//Bob",
        "--tmp",
        "--dev-start-time=1700000000000",
    )
    with running_node(tmp_path, *flags) as node:
        node.call("dev_newBlock")
        due = node.call("dev_timeTravel", 7 * DAY_MS)
        node.call("dev_newBlock")
        assert time_of_best(node) == due
        assert int(node.call("chain_getHeader")["number"], 16) == 1 + 8
