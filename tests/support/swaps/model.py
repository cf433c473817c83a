"""An independent model of a random life: whose each channel, deposit, swap and payout is, and how far it is.

It knows no number of a channel. The driver says to which channel it pays, and no two deposits of a life have
the same amount, so an amount identifies a deposit. The chain never gives numbers of requests, chunks,
egresses and broadcasts out twice. A transfer that its receiver did not take is known by its receiver, which
no two channels share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cfnode.core.addresses import EncodedAddress

__all__ = ["Channel", "Deposit", "Model", "Payout", "Swap"]

Place = tuple[int, int]
SIDES = {"Swap": "output", "Refund": "refund"}
ON_ITS_WAY = ("scheduled", "signing", "sent", "aborted")


@dataclass(eq=False)
class Channel:
    """A channel that the life opened. `owner` is a partner's name, "broker", "other" or "provider"."""

    owner: str
    account: bytes
    chain: str
    number: int
    block: int
    address: EncodedAddress
    source: str
    target: str | None
    destination: EncodedAddress | None
    refund: EncodedAddress
    expires_at: int
    boost: int = 0
    deposits: list[Deposit] = field(default_factory=list)

    @property
    def is_for_swaps(self) -> bool:
        """Whether its deposits are swapped."""
        return self.target is not None

    @property
    def text(self) -> str:
        """Its id in documents."""
        return f"{self.block}-{self.chain}-{self.number}"

    @property
    def latest(self) -> Deposit | None:
        """The deposit that counted last."""
        counted = [deposit for deposit in self.deposits if deposit.place is not None]
        return max(counted, key=lambda deposit: deposit.place or (0, 0), default=None)


@dataclass(eq=False)
class Deposit:
    """A deposit that the life has made; `channel` None: by way of a vault.

    `place` is where it counted: None before. `fate` is announced, swap, rejected or liquidity.
    """

    channel: Channel | None
    asset: str
    amount: int
    transaction: bytes
    place: Place | None = None
    fate: str = "announced"
    is_boosted: bool = False
    is_final: bool = False
    swap: Swap | None = None


@dataclass(eq=False)
class Payout:
    """An output or a refund.

    `state` is scheduled, signing, sent, paid, aborted, failed, expired, ignored, invalid or credited.
    """

    side: str
    asset: str
    amount: int
    state: str
    call: int | None = None
    """The broadcast of the call that pays a failed one again."""
    broadcast: int | None = None
    swap: Swap | None = None


@dataclass(eq=False)
class Swap:
    """A swap of a user; `account` has a share in it, or has made it from its own balance."""

    number: int
    deposit: Deposit | None
    account: bytes | None
    source: str
    target: str
    amount: int
    place: Place
    ended: bool = False
    chunks: list[tuple[int, int, int]] = field(default_factory=list)
    """Executed: number, input, output."""
    payouts: list[Payout] = field(default_factory=list)
    earned: int = 0
    """Commissions, in USDC."""
    announced: str | None = None
    """The state after the newest block that changed it."""

    @property
    def channel(self) -> Channel | None:
        """The channel that it began in."""
        return None if self.deposit is None else self.deposit.channel

    @property
    def state(self) -> str:
        """The state in reports, by what its payouts have come to."""
        states = [payout.state for payout in self.payouts]
        for worst in ("failed", "expired", "aborted", "invalid", "ignored", "scheduled", "signing", "sent"):
            if worst in states:
                return worst
        sides = {payout.side for payout in self.payouts}
        if sides == {"refund"}:
            return "refunded"
        if sides == {"output", "refund"}:
            return "partly_refunded"
        if sides:
            return "paid" if "paid" in states else "credited"
        return "done" if self.ended else "swapping"

    def paid(self, side: str) -> int:
        """Return the amounts that have left, or are on their way, on a side."""
        leaving = [payout for payout in self.payouts if payout.state not in ("ignored", "invalid")]
        return sum(payout.amount for payout in leaving if payout.side == side)


@dataclass
class Facts:
    """Channels, deposits and swaps."""

    channels: list[Channel] = field(default_factory=list)
    deposits: list[Deposit] = field(default_factory=list)
    swaps: list[Swap] = field(default_factory=list)


class Model:
    """All that a life has done; `receive` takes what the chain says after each block."""

    def __init__(self) -> None:
        self._touched: dict[Channel | Deposit | Swap, None] = {}
        self._in_block: set[Swap] = set()
        self.news: list[tuple[int, int, str | None, str]] = []
        """Each change of a swap's state: block, swap, the state before and the new one."""
        self.changes = 0
        """How often a channel, a deposit or a swap has changed."""
        self.withdrawn_to: set[EncodedAddress] = set()
        self.heights: dict[str, int] = {}
        """The newest block of each foreign chain that was witnessed."""
        self.channels: list[Channel] = []
        self.deposits: list[Deposit] = []
        self.swaps: dict[int, Swap] = {}
        self.withdrawn: Counter[tuple[bytes, str]] = Counter()
        """By account and asset, without the fees of the transfers."""
        self._egresses: dict[tuple[str, int], Payout] = {}
        self._receivers: dict[tuple[str, bytes, int], list[Payout]] = {}
        self._broadcasts: dict[tuple[str, int], list[Payout]] = {}
        self._arrived: set[tuple[str, int]] = set()
        """The transactions that have arrived in the newest block."""

    def opened(self, channel: Channel) -> None:
        """Note that a channel is open."""
        self.channels.append(channel)
        self._touch(channel)

    def paying(self, deposit: Deposit) -> None:
        """Note that a deposit was handed to the chain."""
        self.deposits.append(deposit)
        self._touch(deposit)
        if deposit.channel is not None:
            deposit.channel.deposits.append(deposit)

    def _touch(self, *facts: Channel | Deposit | Swap | None) -> None:
        self._touched.update((fact, None) for fact in facts if fact is not None)
        self._in_block.update(fact for fact in facts if isinstance(fact, Swap))
        self.changes += 1

    def touched(self) -> Facts:
        """Return what may have changed since the last time.

        A change of a channel, a deposit or a swap may be one of all that belong together, and of all channels
        with the same number or address.
        """
        swaps, deposits = set[Swap](), set[Deposit]()
        numbers, addresses = set[tuple[str, int]](), set[EncodedAddress]()
        for fact in self._touched:
            deposit = fact.deposit if isinstance(fact, Swap) else fact if isinstance(fact, Deposit) else None
            swap = fact if isinstance(fact, Swap) else None if deposit is None else deposit.swap
            channel = fact if isinstance(fact, Channel) else None if deposit is None else deposit.channel
            swaps |= {swap} if swap is not None else set()
            deposits |= {deposit} if deposit is not None else set()
            if channel is not None:
                numbers.add((channel.chain, channel.number))
                addresses.add(channel.address)
        self._touched.clear()
        return Facts(
            [channel for channel in self.channels
             if (channel.chain, channel.number) in numbers or channel.address in addresses],
            [deposit for deposit in self.deposits if deposit in deposits],
            [swap for swap in self.swaps.values() if swap in swaps],
        )  # fmt: skip

    def everything(self) -> Facts:
        """Return all channels, deposits and swaps."""
        self._touched.clear()
        return Facts(self.channels, self.deposits, list(self.swaps.values()))

    def receive(self, number: int, events: Iterable[tuple[int, str, str, Any]]) -> None:
        """Receive the events of a block: index, pallet, name and fields."""
        events = list(events)
        self._arrived = {
            (pallet.removesuffix("Broadcaster"), fields["broadcast_id"])
            for _, pallet, name, fields in events
            if name == "BroadcastSuccess"
        }
        for index, pallet, name, fields in events:
            if pallet.endswith("IngressEgress"):
                self._on_chain(pallet.removesuffix("IngressEgress"), (number, index), name, fields)
            elif pallet.endswith("Broadcaster"):
                self._sent(pallet.removesuffix("Broadcaster"), name, fields)
            elif pallet == "Swapping":
                self._swapped((number, index), name, fields)
            elif name == "ChainStateUpdated":
                self.heights[pallet.removesuffix("ChainTracking")] = fields["new_chain_state"]["block_height"]
        for swap in sorted(self._in_block, key=lambda swap: swap.number):
            if swap.state != swap.announced:
                self.news.append((number, swap.number, swap.announced, swap.state))
                swap.announced = swap.state
        self._in_block.clear()

    # Deposits

    def _on_chain(self, chain: str, place: Place, name: str, fields: Mapping[str, Any]) -> None:
        if name in ("DepositFinalised", "DepositBoosted"):
            amount = fields.get("amount") or sum(part for _, part in fields["amounts"])
            self._counted(place, name, fields["action"], self._paid(fields["asset"], amount))
        elif name == "DepositFailed":
            witness = next(iter(fields["details"][1].values()))
            asset = witness.get("asset") or witness["input_asset"]
            deposit = self._paid(asset, witness.get("amount") or witness["deposit_amount"])
            deposit.place, deposit.fate, deposit.is_final = place, "rejected", True
            self._touch(deposit)
        elif name == "BatchBroadcastRequested":
            self._batched(chain, fields["broadcast_id"], fields["egress_ids"])
        elif name == "CcmBroadcastRequested":
            self._batched(chain, fields["broadcast_id"], [fields["egress_id"]])
        elif name == "CcmEgressInvalid":
            payout = self._egresses[tuple(fields["egress_id"])]
            payout.state = "invalid"
            self._touch(payout.swap)
        elif name == "TransferFallbackRequested":
            self._not_taken(chain, fields)
        elif name == "FailedForeignChainCallExpired":
            for payout in self._failed_with(chain, fields["broadcast_id"]):
                payout.state = "expired"
                self._touch(payout.swap)
            self._move(chain, fields["broadcast_id"], ("aborted",), "expired")

    def _paid(self, asset: str, amount: int) -> Deposit:
        """Return the deposit of an amount, the only one."""
        (deposit,) = [
            deposit for deposit in self.deposits if (deposit.asset, deposit.amount) == (asset, amount)
        ]
        return deposit

    def _counted(self, place: Place, name: str, action: Any, deposit: Deposit) -> None:
        kind, about = (action, {}) if isinstance(action, str) else action
        deposit.is_final = deposit.is_final or name == "DepositFinalised"
        self._touch(deposit)
        if kind == "BoostersCredited":
            return
        deposit.place, deposit.is_boosted = place, name == "DepositBoosted"
        if kind == "Swap":
            deposit.fate, deposit.swap = "swap", self.swaps[about["swap_request_id"]]
            deposit.swap.deposit = deposit
        else:
            assert kind == "LiquidityProvision", kind
            deposit.fate = "liquidity"

    # Swaps

    def _swapped(self, place: Place, name: str, fields: Mapping[str, Any]) -> None:
        if name == "SwapRequested":
            self._requested(place, fields)
        elif name == "WithdrawalRequested":
            self.withdrawn[fields["account_id"], fields["egress_asset"]] += fields["egress_amount"]
        swap = self.swaps.get(fields.get("swap_request_id", -1))
        if swap is None:
            return
        self._touch(swap)
        if name == "SwapExecuted":
            swap.chunks.append((fields["swap_id"], fields["input_amount"], fields["output_amount"]))
            swap.earned += fields["broker_fee"]
        elif name == "SwapRequestCompleted":
            swap.ended = True
        else:
            self._leaving(swap, name, fields)

    def _requested(self, place: Place, fields: Mapping[str, Any]) -> None:
        kind = fields["request_type"]
        if isinstance(kind, str) or not kind[0].startswith("Regular"):
            return  # the chain swaps what it has earned
        shares = [fee["account"] for fee in fields["broker_fees"]]
        origin = fields["origin"]
        account = origin[1] if origin[0] == "OnChainAccount" else next(iter(shares), None)
        number, pair = fields["swap_request_id"], (fields["input_asset"], fields["output_asset"])
        self.swaps[number] = Swap(number, None, account, *pair, fields["input_amount"], place)
        self._touch(self.swaps[number])

    def _leaving(self, swap: Swap, name: str, fields: Mapping[str, Any]) -> None:
        for begin, side in SIDES.items():
            if name == f"{begin}EgressScheduled":
                payout = Payout(side, fields["asset"], fields["amount"], "scheduled")
                self._egresses[tuple(fields["egress_id"])] = payout
                self._await(swap, payout)
            elif name == f"{begin}EgressIgnored":
                payout = Payout(side, fields["asset"], fields["amount"], "ignored")
            elif name == {"Swap": "CreditedOnChain", "Refund": "RefundedOnChain"}[begin]:
                payout = Payout(side, fields["asset"], fields["amount"], "credited")
            else:
                continue
            payout.swap = swap
            swap.payouts.append(payout)

    def _await(self, swap: Swap, payout: Payout) -> None:
        """Know a transfer by its receiver."""
        if (channel := swap.channel) is None:
            return
        address = channel.destination if payout.side == "output" else channel.refund
        assert address is not None
        key = (payout.asset, address[1], payout.amount)
        self._receivers.setdefault(key, []).append(payout)

    # Transactions

    def _batched(self, chain: str, number: int, egresses: Iterable[tuple[str, int]]) -> None:
        payouts = [self._egresses[egress] for egress in map(tuple, egresses) if egress in self._egresses]
        self._broadcasts[chain, number] = payouts
        for payout in payouts:
            payout.broadcast = number
        self._move(chain, number, ("scheduled",), "signing")

    def _sent(self, chain: str, name: str, fields: Mapping[str, Any]) -> None:
        number = fields.get("broadcast_id") if isinstance(fields, dict) else None
        if number is None:
            return
        if name == "TransactionBroadcastRequest":
            self._move(chain, number, ("scheduled", "signing", "aborted"), "sent")
        elif name == "BroadcastSuccess":
            self._move(chain, number, ON_ITS_WAY, "paid")
        elif name == "BroadcastAborted":
            self._move(chain, number, ("signing", "sent"), "aborted")

    def _move(self, chain: str, number: int, before: tuple[str, ...], after: str) -> None:
        for payout in self._broadcasts.get((chain, number), ()):
            if payout.state in before:
                payout.state = after
                self._touch(payout.swap)

    def _not_taken(self, chain: str, fields: Mapping[str, Any]) -> None:
        """Note that a batch which arrives in this block has left a transfer out: the first of equal ones."""
        key = fields["asset"], fields["destination_address"], fields["amount"]
        payouts = [payout for payout in self._receivers.get(key, ()) if payout.call is None]
        payouts.sort(key=lambda payout: (chain, payout.broadcast) not in self._arrived)
        for payout in payouts[:1]:
            payout.state, payout.call = "failed", fields["broadcast_id"]
            self._touch(payout.swap)

    def _failed_with(self, chain: str, number: int) -> list[Payout]:
        """Return the payouts of a chain that the call of a broadcast pays again."""
        of_chain = [payout for (where, _), payout in self._egresses.items() if where == chain]
        return [payout for payout in of_chain if payout.call == number]
