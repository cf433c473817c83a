"""A record of swaps (`cfnode.swaps.record.SwapRecord`) that a test writes event by event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cfnode.core.addresses import NETWORKS
from cfnode.core.block import BlockRef
from cfnode.swaps.events import KEY
from cfnode.swaps.fate import key_change
from cfnode.swaps.identity import ChannelId, Place
from cfnode.swaps.record import Entry

BROKER, AFFILIATE = b"\x0b" * 32, b"\x0a" * 32
DEPOSIT_ADDRESS = ("Eth", b"\xde" * 20)
DESTINATION, REFUND_ADDRESS = ("Arb", b"\xaa" * 20), ("Eth", b"\xbb" * 20)
TRANSACTION, SENT = b"\x77" * 32, b"\x55" * 32
EXPIRY, MARGIN = 500, 3
CHANNEL = "10-Ethereum-7"
"""The name of the channel that `opened` opens."""


@dataclass(frozen=True, slots=True)
class Announced:
    """A deposit that its chain has not confirmed."""

    amount: int
    transaction: bytes | None = None


class Record:
    """The events of one swap from Ether to USDC on Arbitrum, each in a block of its own by default."""

    network = NETWORKS["Development"]
    chains = ("Ethereum", "Bitcoin", "Arbitrum")

    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], list[Entry]] = {}
        self._next = 10
        self.heights: dict[str, int] = {}
        self.announcements: dict[Any, Announced] = {}
        self.expectations: dict[str, int] = {}

    # What the rules ask

    @property
    def now(self) -> int:
        """The time of the newest block, Unix ms."""
        return self._next * 6_000

    def find(self, *key: Any) -> list[Entry]:
        """Return the entries under a key."""
        return list(self._found.get(key, ()))

    def height(self, chain: str) -> int:
        """Return the height of a chain."""
        return self.heights.get(chain, 0)

    def key_change(self) -> Place | None:
        """Return the place of the newest change of the key."""
        return key_change((event.place, event.name) for event in self.find(*KEY))

    def error(self, entry: Entry) -> tuple[str, str]:
        """Return name and text of an error."""
        return "BelowEgressDustLimit", "The amount is below the limit."

    def announced(self, address: Any) -> Announced | None:
        """Return what was announced for an address."""
        return self.announcements.get(address)

    def expected(self, channel: ChannelId) -> int | None:
        """Return the expected amount of a channel."""
        return self.expectations.get(str(channel))

    # What happened

    def add(
        self, pallet: str, name: str, *keys: tuple[Any, ...], block: int | None = None, **fields: Any
    ) -> Entry:
        """Add an event under these names."""
        number = self._next if block is None else block
        self._next = max(self._next, number) + 1
        entry = Entry(BlockRef(bytes([number]) * 32, number), number * 6_000, 2, pallet, name, fields)
        for key in keys:
            self._found.setdefault(key, []).append(entry)
        return entry

    def opened(self, *, boost_fee: int = 0, chunks: int | None = None, message: Any = None) -> Entry:
        """Add the channel."""
        refund = {"refund_address": REFUND_ADDRESS, "min_price": 1 << 128, "retry_duration": 10}
        return self.add(
            "Swapping",
            "SwapDepositAddressReady",
            ("channel", "Ethereum", 7),
            ("address", DEPOSIT_ADDRESS),
            deposit_address=DEPOSIT_ADDRESS,
            destination_address=DESTINATION,
            source_asset="Eth",
            destination_asset="ArbUsdc",
            channel_id=7,
            broker_id=BROKER,
            broker_commission_rate=15,
            affiliate_fees=[{"account": AFFILIATE, "bps": 5}],
            source_chain_expiry_block=EXPIRY,
            boost_fee=boost_fee,
            channel_metadata=message,
            refund_parameters=refund,
            dca_parameters=_chunks(chunks),
        )

    def requested(self, amount: int = 1_000, *, chunks: int | None = None, origin: Any = None) -> Entry:
        """Add the swap request, number 12."""
        output = {"output_action": ("Egress", {"output_address": DESTINATION})}
        expiry = {"refund_address": ("ExternalAddress", REFUND_ADDRESS)}
        return self.add(
            "Swapping",
            "SwapRequested",
            ("request", 12),
            swap_request_id=12,
            input_asset="Eth",
            input_amount=amount,
            output_asset="ArbUsdc",
            broker_fees=[{"account": BROKER, "bps": 15}],
            dca_parameters=_chunks(chunks),
            request_type=("Regular", output),
            origin=origin or ("DepositChannel", {"channel_id": 7}),
            price_limits_and_expiry={"expiry_behaviour": ("RefundIfExpires", expiry)},
        )

    def deposited(self, amount: int = 1_000, *, action: Any = None, fee: int = 3) -> Entry:
        """Add the confirmed deposit."""
        return self.add(
            "EthereumIngressEgress",
            "DepositFinalised",
            ("channel", "Ethereum", 7),
            ("request", 12),
            ("transaction", TRANSACTION),
            asset="Eth",
            amount=amount,
            channel_id=7,
            ingress_fee=fee,
            deposit_details={"tx_hashes": [TRANSACTION]},
            action=action or ("Swap", {"swap_request_id": 12}),
        )

    def rejected(self, reason: Any) -> Entry:
        """Add a deposit that failed."""
        witness = {"amount": 5, "deposit_details": {"tx_hashes": [TRANSACTION]}}
        return self.add(
            "EthereumIngressEgress",
            "DepositFailed",
            ("address", DEPOSIT_ADDRESS),
            ("transaction", TRANSACTION),
            details=("DepositChannel", {"deposit_witness": witness}),
            reason=reason,
        )

    def scheduled(self, swap: int, amount: int) -> Entry:
        """Add a chunk."""
        key = ("request", 12)
        return self.add("Swapping", "SwapScheduled", key, swap_id=swap, input_amount=amount)

    def executed(self, swap: int, amount: int, output: int) -> Entry:
        """Add the chunk's end."""
        return self.add(
            "Swapping",
            "SwapExecuted",
            ("request", 12),
            ("swap", swap),
            input_amount=amount,
            intermediate_amount=None,
            output_amount=output,
            network_fee=2,
            broker_fee=1,
        )

    def ended(self, name: str, swap: int, reason: str) -> Entry:
        """Add a chunk that was rescheduled or aborted."""
        return self.add("Swapping", name, ("swap", swap), reason=reason)

    def paid(self, side: str = "Swap", amount: int = 900, asset: str = "ArbUsdc", egress: int = 1) -> Entry:
        """Add the egress of the output, or of a refund."""
        chain = "Arbitrum" if asset == "ArbUsdc" else "Ethereum"
        refund = {"refund_fee": 4} if side == "Refund" else {}
        return self.add(
            "Swapping",
            f"{side}EgressScheduled",
            ("request", 12),
            egress_id=(chain, egress),
            asset=asset,
            amount=amount,
            egress_fee=(6, asset),
            **refund,
        )

    def broadcast(self, chain: str = "Arbitrum", egress: int = 1, number: int = 30) -> Entry:
        """Add the broadcast with the egress."""
        key = ("egress", chain, egress)
        name = "BatchBroadcastRequested"
        return self.add(f"{chain}IngressEgress", name, key, broadcast_id=number)

    def about_broadcast(self, name: str, chain: str = "Arbitrum", number: int = 30, **fields: Any) -> Entry:
        """Return the events of a broadcast."""
        return self.add(f"{chain}Broadcaster", name, ("broadcast", chain, number), **fields)

    def rotated(self) -> None:
        """Add the next key, which signs, and the end of a rotation."""
        self.add("Validator", "RotationPhaseUpdated", KEY, new_phase=("ActivatingKeys", {}))
        self.add("EvmThresholdSigner", "KeyRotationCompleted", KEY)

    def completed(self) -> Entry:
        """Add the end of the request."""
        return self.add("Swapping", "SwapRequestCompleted", ("request", 12))


def _chunks(number: int | None) -> dict[str, int] | None:
    return None if number is None else {"number_of_chunks": number, "chunk_interval": 2}
