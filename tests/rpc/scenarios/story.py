"""A broker on a running development node, what the chain says, and whose the money is in the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import ndiff
from typing import Any

import pytest

from cfnode.core.assets import ASSETS, asset_by_symbol
from cfnode.core.extrinsic import decode_extrinsic
from cfnode.core.scale.metadata import Metadata
from cfnode.rpc.table.convert import account as account_text
from tests.rpc.conftest import Served
from tests.rpc.scenarios.books import (
    LENDER,
    STUCK,
    USER,
    Outside,
    Sheet,
    Stored,
    changes,
    inside,
    pools_of,
    sums,
)
from tests.rpc.scenarios.happenings import PAID
from tests.rpc.scenarios.rules import WEIGHTS, Rules, transaction_fee
from tests.rpc.scenarios.transcript import Transcript, members
from tests.support.rpc.assets import BTC, BTC_ADDRESS, ETH, EVM_ADDRESS

ETHER, BITCOIN = 10**18, 10**8
USDC = {"chain": "Ethereum", "asset": "USDC"}
NOTHING = "nothing"
IMPOSSIBLE = hex(2**200)
"""A price that no pool gives."""
OPEN_CHANNEL = "broker_request_swap_deposit_address"
BTC_CHEAPEST, BTC_DEAREST = 80 + 290 + 2 * 255, 2_000
"""Satoshi that a transaction costs: with one of the vault's outputs at least, with a few at most."""
BOOSTER = b"cfnode-dev/boost".ljust(32, b"\0")
OPENED = ["IngressEgress.ChannelOpeningFeePaid", "Swapping.SwapDepositAddressReady", PAID]
Named = tuple[str, Any]


def is_housekeeping(name: str) -> bool:
    """Return whether each block has such events, of whatever is in it."""
    return name == "System.ExtrinsicSuccess" or name.endswith("ChainTracking.ChainStateUpdated")


def named(event: tuple[str, Any]) -> Named:
    """Return a value of `RuntimeEvent`."""
    pallet, inner = event
    name, fields = (inner, ()) if isinstance(inner, str) else inner
    return f"{pallet}.{name}", fields


@dataclass
class EmittedEvents:
    """The events of the chain, block by block: names as `Pallet.Event`, and fields."""

    blocks: list[list[Named]] = field(default_factory=list)

    @property
    def events(self) -> list[Named]:
        """All events, in their order."""
        return [event for block in self.blocks for event in block]

    def check(self, *blocks: Iterable[str]) -> None:
        """Check for these events, in this order, in these blocks one after the other, and no others."""
        expected = [f"block {at}: {name}" for at, names in enumerate(blocks) for name in names or [NOTHING]]
        emitted = [
            f"block {at}: {name}"
            for at, block in enumerate(self.blocks)
            for name in [name for name, _ in block] or [NOTHING]
        ]
        if expected != emitted:
            lines = "\n".join(ndiff(expected, emitted))
            pytest.fail(f"expected (-) and emitted (+):\n{lines}", pytrace=False)

    def of(self, event: str) -> list[Any]:
        """Return the fields of each event of a name, of whichever pallet."""
        return [fields for name, fields in self.events if name.partition(".")[2] == event]

    def one(self, event: str) -> Any:
        """Return the fields of the only one."""
        (fields,) = self.of(event)
        return fields


class Story:
    """Steps of a test with the node, kept in a transcript and in the books."""

    def __init__(self, served: Served, metadata: Metadata, transcript: Transcript) -> None:
        self.served, self.metadata, self.transcript = served, metadata, transcript
        assert served.node.broker is not None
        self.broker = served.node.broker.account
        self.read_to = served.node.chain.best.number
        stored = self.stored()
        self._names = {self.broker: "broker", BOOSTER: "boosters"}
        self._before = inside(stored, self._names)
        self.outside = Outside.of(stored)
        self.rules = Rules.of(pools_of(stored))
        self.channels: list[str] = []
        self.events: list[tuple[bytes, list[Named]]] = []
        self.closed = False
        self._flip, self._burned = self.flip(), 0
        self._vault = self._vault_holds()

    def stored(self) -> Stored:
        """Return the storage of the best block."""
        chain = self.served.node.chain
        return Stored(chain, self.metadata, chain.best.hash)

    # Doing

    async def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call, kept in the transcript."""
        answer = await self.served.call(method, *params)
        self.transcript.answered(method, list(params), answer)
        return answer

    async def error(self, method: str, *params: Any) -> Any:
        """Return the error of a call, kept in the transcript."""
        error = await self.served.error(method, *params)
        self.transcript.answered(method, list(params), error)
        return error

    async def get(self, path: str) -> Any:
        """Return a page of the swap service, kept in the transcript."""
        answer = (await self.served.http.request("GET", path)).json()
        self.transcript.answered(f"GET {path}", [], answer)
        return answer

    async def open(self, source: Any = ETH, target: Any = BTC, **changes: Any) -> str:
        """Open a deposit channel and check the events of its opening; return its address."""
        request = {
            "source_asset": source,
            "destination_asset": target,
            "destination_address": BTC_ADDRESS if target == BTC else EVM_ADDRESS,
            "broker_commission": 10,
            "refund_parameters": {
                "retry_duration": 10,
                "min_price": "0x0",
                "refund_address": BTC_ADDRESS if source == BTC else EVM_ADDRESS,
            }
            | changes.pop("terms", {}),
        } | changes
        await self.new_events()
        message = {"jsonrpc": "2.0", "id": 1, "method": OPEN_CHANNEL, "params": request}
        answer = (await self.served.http.post(message)).json()
        assert "result" in answer, answer
        self.transcript.answered(OPEN_CHANNEL, request, answer["result"])
        (await self.new_events()).check([f"{source['chain']}{OPENED[0]}", *OPENED[1:]])
        opened = answer["result"]
        self.channels.append(f"{opened['issued_block']}-{source['chain']}-{opened['channel_id']}")
        address: str = opened["address"]
        return address

    async def deposit(self, address: str, asset: Any, amount: int, *more: Any) -> None:
        """Pay into a channel, as a user."""
        await self.served.call("dev_deposit", address, asset, amount, *more)
        self.paid(asset, amount)

    async def rejected_deposit(self, address: str, asset: Any, amount: int, *more: Any) -> str:
        """Pay into a channel, as a user; return the reason for which the chain refuses the deposit."""
        error = await self.served.error("dev_deposit", address, asset, amount, *more)
        self.paid(asset, amount)
        reason: str = error["data"]["reason"]
        return reason

    def paid(self, asset: Any, amount: int) -> None:
        """Note that a user has paid an amount."""
        self.outside.accounts.add(USER, _name(**asset), -amount)

    async def lend(self, asset: Any, amount: int) -> None:
        """Fill the boost pool with an amount."""
        await self.call("dev_setBoost", asset, amount)
        self.outside.accounts.add(LENDER, _name(**asset), -amount)

    async def fail(self, address: str, asset: Any) -> None:
        """Let a receiver take no more of an asset."""
        await self.call("dev_failReceiver", address, asset)
        self.outside.failing.add((address, _name(**asset)))

    async def fill(self, asset: Any, price: int) -> None:
        """Set another price in a pool."""
        await self.call("dev_setPool", asset, price)
        name = _name(**asset)
        self.rules.pools[name] = Rules.of({name: pools_of(self.stored())[name]}).pools[name]

    async def seal(self, count: int) -> None:
        """Make blocks in which nothing new happens from outside."""
        for _ in range(count):
            await self.served.call("dev_newBlock")

    async def new_events(self) -> EmittedEvents:
        """Return the events since the last time, block by block, without housekeeping; `events` keeps all."""
        chain, emitted = self.served.node.chain, EmittedEvents()
        for number in range(self.read_to + 1, chain.best.number + 1):
            block = chain.hash_at(number)
            assert block is not None
            events = self._events(block)
            emitted.blocks.append([event for event in events if not is_housekeeping(event[0])])
            self._burn(block, [fields for name, fields in events if name == PAID])
        self.read_to = chain.best.number
        for name, fields in emitted.events:
            self.outside.receive(name, fields)
        self.transcript.emitted(emitted.events)
        return emitted

    def _events(self, block: bytes) -> list[Named]:
        with self.served.node.chain.state(block) as state:
            data = state.get(self.metadata.storage_key("System", "Events")) or b"\0"
        events = [named(record["event"]) for record in self.metadata.event_codec.decode(data)]
        self.events.append((data, events))
        return events

    def _burn(self, block: bytes, paid: list[Any]) -> None:
        """Check that the fees of a block's transactions are what their weights and lengths come to."""
        body = self.served.node.chain.body(block) or []
        signed = [(len(data), call) for data in body if (call := signed_call(self.metadata, data))]
        for (length, call), fee in zip(signed, paid, strict=True):
            assert fee["actual_fee"] == transaction_fee(call, length) or call not in WEIGHTS, call
            self._burned += fee["actual_fee"]

    # The end

    async def look(self) -> None:
        """Check the public answers at the end."""
        for method, *params in (
            ("cf_account_info", account_text(self.broker)),
            ("cf_all_open_deposit_channels",),
            ("broker_all_open_deposit_channels",),
            ("cf_scheduled_swaps", BTC, USDC),
            ("cf_scheduled_swaps", ETH, USDC),
            ("cf_boost_pools_depth",),
        ):
            await self.call(str(method), *params)
        for channel in self.channels:
            await self.get(f"/swaps/{channel}")

    @property
    def accounts(self) -> dict[bytes, str]:
        """Accounts and what the sheet calls them."""
        return dict(self._names)

    def name(self, account: bytes, name: str) -> None:
        """Name an account for the sheet."""
        self._names[account] = name

    def flip(self) -> tuple[int, int]:
        """Return the broker's FLIP for transactions, and the total supply."""
        stored = self.stored()
        account = stored.value("Flip", "Account", self.broker)
        return account["balance"], stored.value("Flip", "TotalIssuance")

    async def sheet(self) -> Sheet:
        """Return the gains and losses of each party since the beginning."""
        await self.new_events()
        after = inside(self.stored(), self._names)
        for party, amounts in self.outside.now().items():
            after[party].update(amounts)
        return changes(after, self._before)

    async def closes(self, expected: dict[str, Any]) -> None:
        """Check that the money is where it should be, to the unit, and so are pools' prices."""
        sheet = await self.sheet()
        right = {party: {a: n for a, n in amounts.items() if n} for party, amounts in expected.items()}
        prices = {asset: ranges["current_sqrt_price"] for asset, ranges in pools_of(self.stored()).items()}
        mismatches = [
            *members(right, sheet),
            *members({}, sums(sheet), "out of nowhere"),
            *members({asset: pool.price for asset, pool in self.rules.pools.items()}, prices, "price"),
        ]
        if mismatches:
            lines = (f"{path} is {now}, should be {wanted}" for path, wanted, now in mismatches)
            pytest.fail("\n  ".join(["the books are not right:", *lines]), pytrace=False)
        await self._check_answers(sheet)
        self.closed = True

    async def balances(self) -> bool:
        """Return whether all together have what they had, and the broker has paid its transactions."""
        left = tuple(amount - self._burned for amount in self._flip)
        return sums(await self.sheet()) == {} and self.flip() == left

    async def _check_answers(self, sheet: Sheet) -> None:
        """Check that answers about accounts and pools equal the stored values."""
        for account, name in self._names.items():
            answer = await self.call("cf_free_balances", account_text(account))
            balances = {
                (chain, symbol): int(n, 16) for chain, of in answer.items() for symbol, n in of.items()
            }
            known = {_name(chain, symbol): amount for (chain, symbol), amount in balances.items() if amount}
            assert known == sheet.get(name, {})
        for name in sorted(set(self.rules.moved) - {"Usdc"}):
            asset = ASSETS[name]
            pair = {"chain": asset.chain, "asset": asset.symbol}, USDC
            answer = await self.call("cf_pool_price_v2", *pair)
            assert int(answer["range_order"], 16) == self.rules.pools[name].price
        await self._check_outputs()
        for channel in self.channels:
            self._has_arrived(await self.get(f"/v2/swaps/{channel}"), sheet)

    async def _check_outputs(self) -> None:
        """Check that the Bitcoin vault holds what it held and what came, less what left and its cost."""
        outputs = await self.call("cf_monitoring_btc_utxos")
        left = sum(of["Btc"] for party, of in self.outside.now().items() if party != LENDER)
        batches = sum(
            name == "BitcoinIngressEgress.BatchBroadcastRequested"
            for _, events in self.events
            for name, _ in events
        )
        for_miners = self._vault - outputs["total_balance"] - left
        assert batches * BTC_CHEAPEST <= for_miners <= batches * BTC_DEAREST

    def _vault_holds(self) -> int:
        outputs = self.stored().value("Environment", "BitcoinAvailableUtxos")
        return sum(output["amount"] for output in outputs)

    def _has_arrived(self, status: Any, sheet: Sheet) -> None:
        """Check that the payouts of a status are with the receiver, or never arrived there."""
        bought, paid = (_name(status[f"{end}Chain"], status[f"{end}Asset"]) for end in ("dest", "src"))
        refund_address = status["fillOrKillParams"]["refundAddress"]
        for kind, asset, address in (
            ("swapEgress", bought, status["destAddress"]),
            ("refundEgress", paid, refund_address),
        ):
            receiver = address.lower() if address.startswith("0x") else address  # without its checksum
            there = sum(sheet.get(party, {}).get(asset, 0) for party in (receiver, STUCK))
            assert kind not in status or int(status[kind]["amount"]) == there


def signed_call(metadata: Metadata, data: bytes) -> str | None:
    """Return the name of the call in a signed extrinsic; None for an inherent and the like."""
    extrinsic = decode_extrinsic(metadata, data)
    if extrinsic.signed is None:
        return None
    _, call = extrinsic.call
    return str(call if isinstance(call, str) else call[0])


def _name(chain: str, asset: str) -> str:
    return asset_by_symbol(chain, asset).name
