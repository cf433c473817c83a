"""`cfnode build-spec` on states of today's runtimes: what it prints, what it writes, and what it refuses.

The code of these states is a WebAssembly module that knows its metadata and nothing else.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import wasmtime
from click.testing import CliRunner, Result

from cfnode.cli.build_spec import build_spec
from cfnode.cli.exits import ExitCode
from cfnode.core.chainspec import RawGenesis, parse, to_json
from cfnode.core.scale import encode_compact
from cfnode.core.scale.metadata import Metadata, decode_metadata
from cfnode.core.state import TIMESTAMP_NOW
from cfnode.devchain.engine.signing import SCHEMES
from tests.conftest import shared
from tests.core.live_state import ACCOUNTS, NOW, live_state, spec_of

HEAP = 1 << 21
"""Where the module's heap begins: behind its metadata."""


def telling(answer: bytes) -> bytes:
    """Return a module whose `Metadata_metadata` gives this answer."""
    data = "".join(f"\\{byte:02x}" for byte in answer)
    span = len(answer) << 32 | 1024
    text = f"""(module (import "env" "memory" (memory {HEAP >> 16}))
        (global (export "__heap_base") i32 (i32.const {HEAP}))
        (data (i32.const 1024) "{data}")
        (func (export "Metadata_metadata") (param i32 i32) (result i64) (i64.const {span})))"""
    return bytes(wasmtime.wat2wasm(text))


@pytest.fixture(scope="module", params=["20209", "20300"])
def live(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Metadata, Path]:
    """Return the metadata of a version, and the specification of a live chain of that version."""
    encoded = shared("vectors", "chainflip", f"metadata-v15-{request.param}.scale").read_bytes()
    metadata = decode_metadata(encoded)
    top = live_state(metadata) | {b":code": telling(encode_compact(len(encoded)) + encoded)}
    path = tmp_path_factory.mktemp("live") / "live.json"
    path.write_text(to_json(spec_of(top)))
    return metadata, path


def built(live: Path, output: Path, *flags: str) -> Result:
    """Run `build-spec` on the live chain's file with Dave and Eve as the authorities."""
    names = "--dev-authorities=//Dave,//Eve"
    return CliRunner().invoke(build_spec, [f"--chain={live}", names, f"--output={output}", *flags])


def test_the_specification_of_a_live_chain_is_copied_and_each_item_listed(
    live: tuple[Metadata, Path], tmp_path: Path
) -> None:
    """Copy a live state with two authorities of one's own; list each item that was removed or written."""
    metadata, path = live
    done = built(path, tmp_path / "mine.json")
    assert done.exit_code == 0, done.output
    *items, genesis = done.stderr.splitlines()
    assert {
        ":grandpa_authorities: 0 removed, 1 written",
        "AuraSlotExtraction.LastSeenSlot: 1 removed, 0 written",
        "System.Number: 1 removed, 0 written",
        "Session.QueuedKeys: 1 removed, 1 written",
        "Validator.CurrentRotationPhase: 1 removed, 0 written",
        "Flip.Account: 1 removed, 2 written",
        "Governance.Members: 1 removed, 1 written",
    } <= set(items)
    assert genesis.startswith("genesis 0x")
    assert not [line for line in items if line.startswith("Timestamp")]
    copy = parse((tmp_path / "mine.json").read_bytes(), "mine").genesis
    assert isinstance(copy, RawGenesis)
    members = metadata.storage("Governance", "Members")
    assert members.decode(copy.top[members.prefix]) == {"members": ACCOUNTS[:1], "threshold": 1}
    assert int.from_bytes(copy.top[TIMESTAMP_NOW], "little") == NOW


def test_the_time_of_the_state_is_removed_on_request(live: tuple[Metadata, Path], tmp_path: Path) -> None:
    """Remove the state's time with --forget-time, so that the copy starts at today's."""
    done = built(live[1], tmp_path / "mine.json", "--forget-time")
    assert done.exit_code == 0, done.output
    assert "Timestamp.Now: 1 removed, 0 written" in done.stderr.splitlines()
    copy = parse((tmp_path / "mine.json").read_bytes(), "mine").genesis
    assert isinstance(copy, RawGenesis) and TIMESTAMP_NOW not in copy.top


def test_nothing_is_written_where_an_item_cannot_be_read(live: tuple[Metadata, Path], tmp_path: Path) -> None:
    """Name the item that cannot be decoded, with its type, and leave no file behind."""
    metadata, path = live
    spec = parse(path.read_bytes(), "live")
    assert isinstance(spec.genesis, RawGenesis)
    damaged = dict(spec.genesis.top) | {metadata.storage("Governance", "Members").prefix: b"\xff"}
    (tmp_path / "damaged.json").write_text(to_json(spec_of(damaged)))
    done = built(tmp_path / "damaged.json", tmp_path / "mine.json")
    assert done.exit_code == ExitCode.CONFIGURATION
    assert "Governance.Members" in done.output and "GovernanceCouncil {members: BTreeSet(" in done.output
    assert not (tmp_path / "mine.json").exists()


def test_an_engine_gets_the_keys_of_todays_runtimes(live: tuple[Metadata, Path], tmp_path: Path) -> None:
    """Write threshold keys whose secrets the engine has, and make both authorities bidders."""
    metadata, path = live
    done = built(path, tmp_path / "mine.json", "--engine")
    assert done.exit_code == 0, done.output
    copy = parse((tmp_path / "mine.json").read_bytes(), "mine").genesis
    assert isinstance(copy, RawGenesis)
    present = metadata.storage("Validator", "CurrentEpoch")
    epoch = present.decode(copy.top.get(present.prefix))
    for scheme in ("Evm", "Bitcoin", "Polkadot"):
        keys = metadata.storage(f"{scheme}ThresholdSigner", "Keys")
        assert keys.decode(copy.top[keys.key(epoch)]) == SCHEMES[scheme].generated(epoch)
    bidders = metadata.storage("Validator", "ActiveBidder")
    assert bidders.decode(copy.top[bidders.prefix]) == sorted(ACCOUNTS)
    said = [line for line in done.stderr.splitlines() if line.startswith("engine: ")]
    assert said[0] == "engine: safe mode stops nothing"
    assert said[-1].startswith("engine: the engine votes in no elections")
