"""Processor time of blocks that the development runtime executes on a store, of the code in this folder.

It prints the seconds of blocks of signed remarks and of an empty one, the least of some rounds, as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from cfnode.core.aura import pre_runtime_item
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.header import Header
from cfnode.core.keys import Keypair
from cfnode.core.scale import ByteCursor
from cfnode.core.scale.metadata import decode_metadata
from cfnode.core.trie import EMPTY_ROOT, root
from cfnode.devchain.runtime.genesis import dev_genesis
from cfnode.devchain.runtime.runtime import DevRuntime
from cfnode.devchain.runtime.signatures import is_signed_by
from cfnode.devchain.runtime.version import TRANSACTION_VERSION
from cfnode.runtime.blocks import BuildOrder, build_block, execute_block
from cfnode.runtime.journal import Journal
from cfnode.store import Store

EXTRINSICS = 600
FULL_ROUNDS, EMPTY_ROUNDS = 4, 60
FIRST_SLOT = 290_000_000
FINAL_EACH = 10
ALICE = Keypair.from_suri("//Alice")


class Chain:
    """Blocks on a store, each built and then executed."""

    def __init__(self, folder: Path) -> None:
        state = dev_genesis()
        self.genesis = self.head = Header(bytes(32), 0, root(state, 1), EMPTY_ROOT)
        self.store = Store.open(folder, sync=False)
        self.store.initialise(self.genesis, state)
        self.runtime = DevRuntime()
        with self.store.state(self.genesis.hash) as at:
            encoded = self.runtime.call("Metadata_metadata", b"", Journal(at))
        self.metadata = decode_metadata(ByteCursor(encoded).bytes())
        self.nonce = 0

    def remarks(self) -> list[bytes]:
        """Return signed remarks for one block."""
        first, self.nonce = self.nonce, self.nonce + EXTRINSICS
        version = self.runtime.composition.release.spec_version
        call = self.metadata.call_codec.encode(("System", ("remark", {"remark": bytes(32)})))
        return [
            sign_extrinsic(
                self.metadata, call, ALICE, nonce=nonce, era=IMMORTAL, era_hash=self.genesis.hash,
                genesis_hash=self.genesis.hash, spec_version=version, transaction_version=TRANSACTION_VERSION,
            )
            for nonce in range(first, self.nonce)
        ]  # fmt: skip

    def grow(self, extrinsics: Sequence[bytes] = (), *, is_known: bool = False) -> float:
        """Build a block, and return the seconds of processor time that its execution takes.

        `is_known`: the process has verified the signatures before, as for the pool.
        """
        number = self.head.number + 1
        slot = FIRST_SLOT + number
        inherents = [
            (b"timstap0", (slot * 6_000).to_bytes(8, "little")),
            (b"auraslot", slot.to_bytes(8, "little")),
        ]
        order = BuildOrder(
            self.head.hash, number, (pre_runtime_item(slot),), inherents, list(extrinsics), 60.0
        )
        with self.store.state(self.head.hash) as state:
            built = build_block(self.runtime, Journal(state), order, time.monotonic)
        assert not built.refused, built.refused[:1]
        if not is_known:
            forget_signatures()
        began = time.process_time()
        with self.store.state(self.head.hash) as state:
            changes = execute_block(self.runtime, Journal(state), built.header, built.body)
        seconds = time.process_time() - began
        self.store.add_block(built.header, built.body, changes)
        self.head = built.header
        if number % FINAL_EACH == 0:
            self.store.finalize(self.head.hash)
        return seconds


def forget_signatures() -> None:
    """Let signatures be verified again, as those of unknown transactions: later code keeps the answers."""
    if hasattr(is_signed_by, "cache_clear"):
        is_signed_by.cache_clear()


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as folder:
        chain = Chain(Path(folder))
        for _ in range(FINAL_EACH):
            chain.grow()
        empty = min(chain.grow() for _ in range(EMPTY_ROUNDS))
        full = min(chain.grow(chain.remarks()) for _ in range(FULL_ROUNDS))
        known = min(chain.grow(chain.remarks(), is_known=True) for _ in range(FULL_ROUNDS))
        chain.store.close()
    json.dump({"empty": empty, "full": full, "known": known}, sys.stdout)


if __name__ == "__main__":
    main()
