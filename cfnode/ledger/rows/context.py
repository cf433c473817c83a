"""Context in which rows are made: the block, its rows so far, and values as text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from cfnode.core import ss58
from cfnode.core.addresses import AddressError, address_to_text, encode_foreign_address
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.scale import NotInMetadataError
from cfnode.ledger.decoding import DecodedBlock, DecodedEvent, mentions
from cfnode.ledger.rows.known import Known, KnownChannel, KnownPayout
from cfnode.ledger.rows.shapes import check
from cfnode.swaps.events import variant

__all__ = ["Context", "Handler", "Handlers", "Rows", "account_text"]

FLIP: Final = "FLIP"
"""FLIP on the State Chain, which pays fees there; `Flip` is a deposited balance."""
Rows = dict[str, list[dict[str, Any]]]
Handler = Callable[["Context", DecodedEvent], bool]
"""Function that adds the rows of an event, and returns whether the event concerns the accounts."""
Handlers = dict[str, Handler]
"""Handlers by the name of an event."""


class Context:
    """Block whose rows are being made, and these rows.

    `credits` are those of USDC that no swap has claimed yet; `last_debit` is the newest debit of any account:
    account, asset and amount.
    """

    def __init__(self, block: DecodedBlock, known: Known) -> None:
        self.block, self.known = block, known
        self.rows: Rows = defaultdict(list)
        self.credits: list[tuple[str, int]] = []
        self.last_debit: tuple[bytes, str, int] | None = None
        self._places: dict[tuple[str, int], int] = {}

    def add(self, event: DecodedEvent, table: str, **values: Any) -> None:
        """Add a row to a table with one row an event."""
        self.rows[table].append({"block": self.block.number, "event": event.index, **values})

    def forget(self, event: DecodedEvent) -> None:
        """Remove all rows of an event, which must be the newest one."""
        for rows in self.rows.values():
            while rows and rows[-1]["event"] == event.index:
                rows.pop()

    def check(self, event: DecodedEvent) -> None:
        """Raise ValueError if a row of an event, which must be the newest one, does not fit its table."""
        for table, rows in self.rows.items():
            for row in reversed(rows):
                if row["event"] != event.index:
                    break
                check(table, row)

    def add_part(self, event: DecodedEvent, table: str, **values: Any) -> None:
        """Add a row to a table with several rows an event."""
        place = self._places[table, event.index] = self._places.get((table, event.index), -1) + 1
        self.add(event, table, place=place, **values)

    def hold(self, event: DecodedEvent, account: bytes, kind: str, amount: int, asset: str = FLIP) -> None:
        """Add a row of `holdings`; a negative amount is a debit."""
        self.add_part(event, "holdings", account=account_text(account), asset=asset, kind=kind,
                      credit=amount >= 0, amount=abs(amount))  # fmt: skip

    def move(
        self, event: DecodedEvent, account: str, asset: str, amount: int, *, credit: bool, balance: int | None
    ) -> None:
        """Add a row of `movements`; `balance` None: the event does not state it, and the books know it."""
        if balance is None:
            before = self.known.balance(account, asset)
            balance = before + amount if credit else before - amount
            self.known.balances.put_last((account, asset), balance)
        self.add(
            event, "movements", account=account, asset=asset, amount=amount, credit=credit, balance=balance
        )

    def charge(self, event: DecodedEvent, kind: str, asset: str, amount: int, **columns: Any) -> None:
        """Add a row of `fees`, unless the amount is 0."""
        if amount:
            columns = dict.fromkeys(("account", "request", "chain", "channel", "opened")) | columns
            self.add_part(event, "fees", kind=kind, asset=asset, amount=amount, **columns)

    def pay(
        self,
        event: DecodedEvent,
        kind: str,
        egress: tuple[str, int] | None,
        asset: str,
        amount: int | None,
        **columns: Any,
    ) -> None:
        """Add a row of `payouts`; an `egress` is a chain and a number."""
        chain, number = egress or (ASSETS[asset].chain, None)
        names = ("request", "account", "destination", "broadcast", "reason", "explanation")
        values = {**dict.fromkeys(names), "state": "scheduled", **columns}
        if egress is not None:
            payout = KnownPayout(
                kind, values["request"], values["account"], asset, amount, values["destination"]
            )
            self.known.payouts.put_last(egress, payout)
        self.add(
            event, "payouts", kind=kind, chain=chain, egress=number, asset=asset, amount=amount, **values
        )

    def keeps(self, account: bytes) -> bool:
        """Return whether the books have the balances of an account."""
        return self.known.accounts is None or account in self.known.accounts

    def opened(self, chain: str, channel: int | None, height: int | None) -> int | None:
        """Return the block that opened the channel that an event names; None if the books lack it.

        `height` is the block of the foreign chain that the event is about.
        """
        opening = self.known.opening(chain, channel, height)
        return None if opening is None else opening.opened

    def opening(self, event: DecodedEvent) -> KnownChannel | None:
        """Return the channel that a foreign chain's event names; None if the books lack it."""
        fields = event.fields
        return self.known.opening(event.chain, fields.get("channel_id"), fields.get("block_height"))

    def mentions(self, event: DecodedEvent) -> bool:
        """Return whether the event names one of the accounts; always True in books of all accounts."""
        accounts = self.known.accounts
        return accounts is None or mentions(event.fields, accounts)

    def address(self, chain: str, account: Any) -> str | None:
        """Return a checked address of a chain (raw, or a Bitcoin script) as text; None for None."""
        if account is None:
            return None
        return self.foreign((CHAINS[chain].address, account))

    def foreign(self, address: Any) -> str:
        """Return a ForeignChainAddress as text; a script that has no address as 0x-hex of its bytes."""
        try:
            return address_to_text(encode_foreign_address(address, self.known.network))
        except AddressError:
            return _hex(address[1])

    def error_name(self, error: Any) -> str:
        """Return the name of a DispatchError."""
        return self.explained(error)[0]

    def explained(self, error: Any) -> tuple[str, str | None]:
        """Return the name of a DispatchError, and the runtime's text about a module error."""
        name, details = variant(error)
        if name != "Module" or self.block.module_errors is None:
            return name, None
        try:
            return self.block.module_errors.error(details["index"], details["error"])[1:]
        except NotInMetadataError:
            return name, None


def _hex(value: Any) -> str:
    while isinstance(value, tuple):
        value = value[-1]
    return f"0x{value.hex()}" if isinstance(value, bytes) else str(value)


def account_text(account: bytes) -> str:
    """Return an account id as SS58. Raises ValueError unless it has 32 bytes."""
    if len(account) != 32:
        raise ValueError(f"{len(account)} bytes are not an account")
    return ss58.encode(account)
