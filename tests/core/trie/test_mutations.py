"""Proofs with one byte spoilt, any byte to any value: what is read is the true value, or nothing at all."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from cfnode.core.trie import (
    MissingNode,
    ProofState,
    TrieError,
    build_range,
    decode_compact_proof,
    decode_proof,
    encode_proof,
    read_range,
)
from tests.conftest import shared
from tests.core.trie.proofs import build_proof
from tests.lengths import repeats
from tests.support.core.proofs import expected, stored
from tests.support.core.states import Held

MADE = repeats(50, 4)
Read = Callable[[bytes], object]
"""What a proof tells; raises TrieError or MissingNode where it does not hold, or does not tell."""


@dataclass(frozen=True, slots=True)
class Proof:
    """An encoded proof, and how to ask it something."""

    name: str
    data: bytes
    read: Read


def value(root: bytes, key: bytes, data: bytes) -> object:
    """Return what a proof says of a key's value."""
    return ProofState(root, decode_proof(data)).get(key)


def following(root: bytes, key: bytes, data: bytes) -> object:
    """Return what a proof says of the next key."""
    return ProofState(root, decode_proof(data)).next_key(key)


def compact_value(root: bytes, key: bytes, data: bytes) -> object:
    """Return what a compact proof says of a key's value."""
    return ProofState(root, decode_compact_proof(decode_proof(data), root)).get(key)


def pairs(root: bytes, true: frozenset[tuple[bytes, bytes, bytes]], data: bytes) -> object:
    """Check the pairs: a range may end early, but shows nothing that is not in the state."""
    return set(read_range(decode_proof(data), root, ()).pairs) <= true


def captured() -> Iterator[Proof]:
    """Yield proofs of Polkadot, and of Chainflip's genesis."""
    for name in ("state-proof-polkadot-genesis.hex", "state-proof-small-inline-nodes.hex"):
        known = expected(name)
        [(key, _)] = known["value_at"].items()
        data = bytes.fromhex(shared("vectors", "smoldot", name).read_text())
        yield Proof(name, data, partial(value, bytes.fromhex(known["state_root"]), bytes.fromhex(key)))
    known = expected("issue_2035_proof")
    data = shared("vectors", "smoldot", "issue_2035_proof").read_bytes()
    root, key = bytes.fromhex(known["state_root"]), bytes.fromhex(known["next_key_after"])
    yield Proof("issue_2035_proof", data, partial(following, root, key))
    cases = json.loads(shared("vectors", "synthetic", "compact-proofs.json").read_text())["cases"]
    [case] = [case for case in cases if case["name"] == "grandpa-and-legacy-key"]
    key = bytes.fromhex(case["keys_with_value"][1])
    read = partial(compact_value, bytes.fromhex(case["state_root"]), key)
    yield Proof(case["name"], bytes.fromhex(case["proof"]), read)


def made() -> Iterator[Proof]:
    """Yield proofs of small tries: of values inside and by hash, of absence, of the next key, of ranges."""
    chance = random.Random(7)
    for index in range(MADE):
        entries = {
            chance.randbytes(chance.randint(1, 3)): chance.randbytes(chance.choice((1, 20, 33, 60)))
            for _ in range(chance.randint(1, 4))
        }
        key = chance.choice(sorted(entries))
        root, nodes = stored(entries, 1)
        proof = encode_proof(build_proof(nodes.get, entries.get, [key]))
        match index % 4:
            case 0:
                yield Proof(f"value {index}", proof, partial(value, root, key))
            case 1:
                absent = encode_proof(build_proof(nodes.get, entries.get, [key + b"\x01"]))
                yield Proof(f"absence {index}", absent, partial(value, root, key + b"\x01"))
            case 2:
                whole = encode_proof(build_proof(nodes.get, entries.get, entries))
                yield Proof(f"next key {index}", whole, partial(following, root, key))
            case _:
                items, _ = build_range(Held(entries), (), 200)
                true = frozenset((b"", entry, entries[entry]) for entry in entries)
                yield Proof(f"range {index}", encode_proof(items), partial(pairs, root, true))


def sampled(data: bytes) -> Iterator[bytes]:
    """Yield each byte changed once, by chance to anything else."""
    chance = random.Random(len(data))
    for at in range(len(data)):
        yield data[:at] + bytes((data[at] ^ chance.randint(1, 255),)) + data[at + 1 :]


def exhaustive(data: bytes) -> Iterator[bytes]:
    """Yield each byte changed to each of the 255 others."""
    for at in range(len(data)):
        spoilt = bytearray(data)
        for mask in range(1, 256):
            spoilt[at] = data[at] ^ mask
            yield bytes(spoilt)


def unharmed(proof: Proof, mutations: Iterator[bytes]) -> tuple[int, int]:
    """Return the number of altered proofs that give the right values, and of those that are refused."""
    truth, right, refused = proof.read(proof.data), 0, 0
    for data in mutations:
        try:
            assert proof.read(data) == truth, (proof.name, data.hex())
            right += 1
        except (TrieError, MissingNode):
            refused += 1
    return right, refused


def test_no_spoilt_byte_of_a_proof_of_others_makes_another_value() -> None:
    """Read the true value or an error from captured proofs in which one byte is spoilt by chance."""
    for proof in captured():
        right, refused = unharmed(proof, sampled(proof.data))
        assert refused > 0, proof.name
        assert right + refused == len(proof.data)


def test_no_mutation_of_a_single_byte_of_a_proof_makes_another_value() -> None:
    """Read the true value or an error from small proofs in which each byte takes each other value."""
    proofs = list(made())
    assert len(proofs) == MADE
    for proof in proofs:
        right, refused = unharmed(proof, exhaustive(proof.data))
        assert refused > 0, proof.name
        assert right + refused == 255 * len(proof.data)
