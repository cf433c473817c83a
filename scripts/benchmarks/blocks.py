"""Time that the development runtime takes for a block of five hundred signed extrinsics.

They are requests for deposit addresses, the heaviest that brokers send, through a real executor process.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import trio

from cfnode.core.aura import pre_runtime_item, sealed
from cfnode.core.era import IMMORTAL
from cfnode.core.extrinsic import sign_extrinsic
from cfnode.core.header import Header
from cfnode.core.keys import Keypair
from cfnode.core.scale import ByteCursor
from cfnode.core.scale.metadata import decode_metadata
from cfnode.core.trie import EMPTY_ROOT, root
from cfnode.devchain.runtime.genesis import dev_genesis
from cfnode.devchain.runtime.releases import DEFAULT_RELEASE, RELEASES
from cfnode.devchain.runtime.version import TRANSACTION_VERSION
from cfnode.devchain.runtime_choice import RUNTIMES
from cfnode.runtime.calls import BlockSource
from cfnode.runtime.executor import Executor
from cfnode.store import Store

SIGNED = 500
ROUNDS = 3
FIRST_SLOT = 290_000_000
FUNDS = 10**21
BROKER = Keypair.from_suri("//Broker", "sr25519")
EVM_ADDRESS = ("Eth", b"\x11" * 20)
REQUEST = (
    "Swapping",
    (
        "request_swap_deposit_address_with_affiliates",
        {
            "source_asset": "Eth",
            "destination_asset": "Btc",
            "destination_address": ("Btc", b"bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"),
            "broker_commission": 10,
            "channel_metadata": None,
            "boost_fee": 0,
            "affiliate_fees": [],
            "refund_parameters": {
                "retry_duration": 10,
                "refund_address": EVM_ADDRESS,
                "min_price": 0,
                "refund_ccm_metadata": None,
                "max_oracle_price_slippage": None,
            },
            "dca_parameters": None,
        },
    ),
)

Row = tuple[str, str, str, bool | None]


def run() -> list[Row]:
    """Return the rows of this benchmark."""
    authored, executed = trio.run(_best)
    name = f"a block of {SIGNED} signed requests for deposit addresses"
    return [
        (f"{name}, authored", f"{authored:.2f} s", "≤ 1.5 s", authored <= 1.5),
        (f"{name}, executed", f"{executed:.2f} s", "≤ 1.5 s", executed <= 1.5),
    ]


async def _best() -> tuple[float, float]:
    """Return the seconds to author such a block and to execute it, the best of some rounds."""
    state = dev_genesis()
    genesis = Header(bytes(32), 0, root(state, 1), EMPTY_ROOT)
    with tempfile.TemporaryDirectory(prefix="cfnode-bench-") as folder:
        store = Store.open(Path(folder), sync=False)
        store.initialise(genesis, state)
        async with Executor.start(store, runtimes=RUNTIMES) as executor:
            chain = await _Chain.begin(executor, store, genesis)
            times = [await chain.full_block() for _ in range(ROUNDS)]
        store.close()
    return min(authored_s for authored_s, _ in times), min(executed_s for _, executed_s in times)


class _Chain:
    """Development chain without a node around it."""

    def __init__(self, executor: Executor, store: Store, genesis: Header, metadata: bytes) -> None:
        self._executor, self._store, self._genesis, self._head = executor, store, genesis, genesis
        self._metadata = decode_metadata(metadata)
        self._nonce = 0

    @classmethod
    async def begin(cls, executor: Executor, store: Store, genesis: Header) -> _Chain:
        """Create a chain with a funded broker, after two blocks."""
        metadata = ByteCursor(await executor.call(BlockSource(genesis.hash), "Metadata_metadata")).bytes()
        chain = cls(executor, store, genesis, metadata)
        await chain._grow([])
        await chain._grow([chain._signed(("Swapping", "register_as_broker"))])
        return chain

    async def full_block(self) -> tuple[float, float]:
        """Return the seconds that it takes to author the block, and to execute it."""
        return await self._grow([self._signed(REQUEST) for _ in range(SIGNED)])

    async def _grow(self, extrinsics: list[bytes]) -> tuple[float, float]:
        slot = FIRST_SLOT + self._head.number + 1
        inherents = [
            (b"timstap0", (slot * 6_000).to_bytes(8, "little")),
            (b"auraslot", slot.to_bytes(8, "little")),
            (b"devfund0", b"\x04" + BROKER.account + FUNDS.to_bytes(16, "little")),
        ]
        began = time.perf_counter()
        items = [pre_runtime_item(slot)]
        built = await self._executor.build_block(self._head.hash, items, inherents, extrinsics, 60.0)
        authored = time.perf_counter() - began
        assert not built.refused, built.refused[:1]
        header = sealed(built.header, bytes(64))
        began = time.perf_counter()
        changes = await self._executor.execute_block(header, built.body)
        executed = time.perf_counter() - began
        await self._executor.overlay_added(self._store.add_block(header, built.body, changes))
        self._head = header
        return authored, executed

    def _signed(self, call: Any) -> bytes:
        self._nonce += 1
        return sign_extrinsic(
            self._metadata,
            self._metadata.call_codec.encode(call),
            BROKER,
            nonce=self._nonce - 1,
            era=IMMORTAL,
            era_hash=self._genesis.hash,
            genesis_hash=self._genesis.hash,
            spec_version=RELEASES[DEFAULT_RELEASE].spec_version,
            transaction_version=TRANSACTION_VERSION,
        )
