"""Every test vector has a test that reads it: what the list names, and other files in its folder."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cfnode.core.scale import Variants
from cfnode.core.scale.metadata import decode_metadata
from cfnode.devchain.methods.rows import SECTION
from cfnode.rpc.reference import full_table
from tests.conftest import shared
from tests.core import test_chainspec, test_header, test_scale_metadata
from tests.core.grandpa import test_messages, test_verify
from tests.core.trie import test_codec, test_compact, test_proof, test_roots
from tests.core.wire import test_wire

SMOLDOT_HEADERS = (*test_header.HEX, *test_header.BINARY)


def _snapshots() -> None:
    """Check that pallet, event and fields of decoded events have names of the metadata."""
    metadata = decode_metadata(shared("vectors", "chainflip", "metadata-v15-20203.scale").read_bytes())
    for path in sorted(shared("vectors", "chainflip", "scale-json-snapshots").glob("*.snap")):
        [(pallet, events)] = json.loads(path.read_text().split("---", 2)[2]).items()
        events_type = metadata.pallet(pallet).events
        assert events_type is not None
        definition = metadata.registry.type(events_type).definition
        assert isinstance(definition, Variants)
        variants = {variant.name: variant for variant in definition.variants}
        for event, fields in events.items():
            assert fields.keys() <= {field.name for field in variants[event].fields}


def _answers() -> None:
    """Check that each method of the recorded calls is one that a node can serve."""
    served = full_table(SECTION).by_name
    calls = json.loads(shared("vectors", "chainflip", "runtime-20209-answers.json").read_text())
    assert len(calls) == 500
    assert {call["method"] for call in calls} <= served.keys()
    assert all(("result" in call) != ("error" in call) for call in calls)


CHECKS: list[Callable[[], None]] = [
    *(partial(test_header.test_headers_seen_on_chain_decode_and_encode_to_the_same_bytes, name)
      for name in SMOLDOT_HEADERS),
    test_header.test_a_malformed_header_is_refused,
    *(partial(test_proof.test_the_next_key_is_found_over_a_proof, f"issue_2035{which}_proof")
      for which in ("", "_bis", "_ter")),
    *(partial(test_proof.test_captured_proofs_decode_and_encode_to_the_same_bytes, name)
      for name in ("proof-decode-small", "proof-decode-large")),
    test_proof.test_a_polkadot_proof_tells_presence_absence_and_silence_apart,
    test_proof.test_nodes_below_32_bytes_are_found_inside_their_parent,
    test_proof.test_a_root_below_32_bytes_is_still_addressed_by_its_hash,
    test_proof.test_the_captured_proof_2175_decodes_to_nodes_of_one_trie,
    test_proof.test_successive_proofs_enumerate_every_key_under_a_prefix,
    test_compact.test_compact_proofs_of_the_main_net_genesis_show_their_keys,
    test_verify.test_every_synthetic_justification_has_the_expected_verdict,
    test_verify.test_every_synthetic_warp_proof_has_the_expected_result,
    test_verify.test_thresholds_are_those_of_the_voters,
    test_messages.test_a_justification_seen_on_chain,
    test_messages.test_a_commit_seen_in_gossip,
    test_messages.test_a_neighbour_packet_seen_in_gossip,
    test_wire.test_a_request_that_once_broke_a_decoder_is_read,
    test_codec.test_the_branch_with_a_partial_key_seen_on_chain_encodes_to_the_same_bytes,
    test_chainspec.test_the_built_in_main_net_has_the_hash_that_the_network_goes_by,
    test_roots.test_published_roots_of_both_state_versions,
    *(partial(test_scale_metadata.test_newer_runtimes_decode_and_encode_to_the_same_bytes, *row)
      for row in test_scale_metadata.NEWER),
    _snapshots,
    _answers,
]  # fmt: skip


def listed() -> set[str]:
    """Return the patterns in the tables of the lists, by folder: `smoldot/header-*`."""
    patterns: set[str] = set()
    folder = ""
    runtimes = [
        "## chainflip/",
        *shared("vectors", "chainflip", "README-runtimes.md").read_text().splitlines(),
    ]
    for line in [*shared("vectors", "README.md").read_text().splitlines(), *runtimes]:
        heading = re.match(r"## (\w+/)", line)
        folder = heading[1] if heading else folder
        cell = re.match(r"\| ([^|]+?) \|", line)
        if cell and folder and cell[1] != "file" and not cell[1].startswith("-"):
            patterns |= {folder + name for name in _names(cell[1])}
    return patterns


def _names(cell: str) -> Iterator[str]:
    """Yield the single names in `header-x-1/2.hex, y.json: roots, z (= w)`."""
    for part in re.split(r", ", re.sub(r":.*", "", cell)):
        for name in re.findall(r"[^()=\s]+", part):
            numbers = re.fullmatch(r"(.*-)(\d)/(\d)(\..*)?", name)
            if numbers:
                yield from (f"{numbers[1]}{number}{numbers[4] or ''}" for number in numbers.group(2, 3))
            else:
                yield f"{name}*" if name.endswith("/") else name


def files() -> set[str]:
    """Return all vectors there are, but for the lists and licences."""
    folder = shared("vectors")
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return {name for name in names if not Path(name).name.startswith(("README", "LICENSE"))}


def unread(checks: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the vectors that none of the tests opens."""
    folder, opened, real = shared("vectors"), set[str](), io.open

    def noting(file: Any, *args: Any, **named: Any) -> Any:
        if isinstance(file, Path) and file.is_relative_to(folder):
            opened.add(file.relative_to(folder).as_posix())
        return real(file, *args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(io, "open", noting)
        for check in checks:
            check()
    return files() - opened


def test_the_list_names_existing_vectors() -> None:
    """List existing vectors only, and every vector that exists."""
    patterns, there = listed(), files()
    assert len(patterns) > 20
    assert {name for name in there if not any(fnmatch(name, pattern) for pattern in patterns)} == set()
    assert {pattern for pattern in patterns if not any(fnmatch(name, pattern) for name in there)} == set()


def test_every_vector_is_read_and_has_its_expected_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read every vector in at least one test that judges it."""
    assert unread(CHECKS, monkeypatch) == set()


def test_a_vector_without_a_test_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Find a vector that no test opens, when its test is left out."""
    assert unread(CHECKS[1:], monkeypatch) == {"smoldot/header-polkadot-1.hex"}
