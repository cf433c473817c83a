"""Tables of the books: one row for each fact that an event of the chain states, and never changed after.

Every such table has the block's number and the event's index as its key (with `place` where one event states
several facts). So a block is written once or not at all, a block that was read twice changes nothing, and the
books go back to a block by deleting the rows from that block on. States (an open channel, a failed payout)
are derived by queries, which `reports` has.

Hashes and accounts are text: 0x-hex and SS58. Amounts are integers in smallest units. `time` is Unix ms.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, String, Table

from cfnode.ledger import service_tables
from cfnode.ledger.columns import amount, facts, metadata, number, receiver, text

__all__ = ["BY_BLOCK", "metadata"]

ledger = Table("ledger", metadata, text("name", 40), text("value"), Index("ledger_name", "name", unique=True))
"""Entries of the books by name, such as genesis, network, accounts, and the block from which FLIP counts."""

blocks = Table(
    "blocks",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("hash", String(66), nullable=False, unique=True),
    text("parent", 66),
    number("time"),
    number("spec_version"),
    number("events"),
)

gaps = Table(
    "gaps",
    metadata,
    Column("first", BigInteger, primary_key=True, autoincrement=False),
    number("last"),
    number("found_at"),
)
"""Blocks whose state no node had, first to last; `found_at` is the clock's, Unix ms."""

openings = Table(
    "openings",
    metadata,
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("account", String(60), primary_key=True),
    Column("asset", String(12), primary_key=True),
    amount("amount"),
)
"""Free balances at the block before the first one, and at the last block of each gap. Asset FLIP is that of
`holdings`."""

checks = Table(
    "checks",
    metadata,
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    Column("place", Integer, primary_key=True, autoincrement=False),
    text("account", 60),
    text("asset", 12),
    text("figure", 20),
    amount("books"),
    amount("chain"),
    Column("negative", Boolean, nullable=False),
)
"""Differences between books and chain at a compared block. `negative`: the books' figure is `-books`."""

events = facts(
    "events",
    text("pallet", 40),
    text("name", 60),
    text("fields"),
    indexed_by=(("pallet", "name"),),
)
"""The events that concern the accounts, as the chain states them; the other tables follow from them. Also the
rotations of the key that signs payouts."""

unread = facts(
    "unread",
    text("pallet", 40),
    text("name", 60),
    text("fields"),
    text("reason"),
    indexed_by=(("pallet", "name"),),
)
"""Events of a known kind whose fields this version cannot read; no other table has anything of them."""

channels = facts(
    "channels",
    text("kind", 12),
    text("chain", 12),
    number("channel"),
    text("account", 60),
    text("address", null=True),
    text("source", 12, null=True),
    text("target", 12, null=True),
    receiver("destination", null=True),
    receiver("refund_address", null=True),
    number("commission_bps", null=True),
    number("boost_bps", null=True),
    amount("opening_fee", null=True),
    number("expiry_block", null=True),
    number("chunks", null=True),
    number("chunk_interval", null=True),
    text("min_price", 80, null=True),
    number("retry_blocks", null=True),
    Column("has_message", Boolean, nullable=False),
    indexed_by=(("address",), ("chain", "expiry_block")),
    ordered_by=(("account",), ("chain", "channel")),
)
"""Opened deposit channels; `kind` is swap, liquidity, account, or private, and in books of chosen accounts
also other: a channel of another account, which got the number of one that the books have."""

deposits = facts(
    "deposits",
    text("state", 12),
    text("chain", 12),
    number("channel", null=True),
    number("opened", null=True),
    text("account", 60, null=True),
    text("address", null=True),
    text("asset", 12),
    amount("amount"),
    amount("ingress_fee"),
    amount("boost_fee"),
    number("request", null=True),
    number("prewitnessed", null=True),
    text("action", 24),
    text("reason", null=True),
    text("origin", 16),
    text("transaction", null=True),
    indexed_by=(("chain", "channel"), ("request",), ("transaction",), ("chain", "prewitnessed")),
)
"""Witnessed deposits; `opened` is the block of the channel's opening, here and in other tables, NULL if the
books lack it; `state` is finalised, boosted, failed, or repaid (a boosted one, now confirmed)."""

boosts = facts(
    "boosts",
    text("state", 12),
    text("chain", 12),
    number("prewitnessed"),
    text("source", null=True),
    text("asset", 12, null=True),
    amount("amount"),
    amount("fee"),
    number("channel", null=True),
    number("opened", null=True),
    has_place=True,
    indexed_by=(("chain", "prewitnessed"), ("chain", "channel")),
)
"""Boosts: amounts that lenders advanced; `state` is lent, refused (not enough liquidity), or lost."""

requests = facts(
    "requests",
    number("request"),
    text("kind", 24),
    text("account", 60, null=True),
    text("origin", 16),
    text("chain", 12),
    number("channel", null=True),
    number("opened", null=True),
    text("source", 12),
    text("target", 12),
    amount("amount"),
    receiver("destination", null=True),
    receiver("refund_address", null=True),
    number("chunks", null=True),
    number("chunk_interval", null=True),
    indexed_by=(("request",), ("chain", "channel")),
    ordered_by=(("account",),),
)
"""Swap requests; `account` is the broker, or the account that swaps its own balance."""

shares = facts(
    "shares",
    number("request"),
    text("account", 60),
    number("bps"),
    has_place=True,
    indexed_by=(("request",),),
)
"""Shares of a request in basis points: of the broker (place 0) and of the affiliates."""

swaps = facts(
    "swaps",
    text("state", 12),
    number("request", null=True),
    number("swap"),
    number("execute_at", null=True),
    text("source", 12, null=True),
    text("target", 12, null=True),
    amount("input", null=True),
    amount("intermediate", null=True),
    amount("output", null=True),
    text("reason", null=True),
    indexed_by=(("request",), ("swap",)),
)
"""Chunks of requests; `state` is scheduled, rescheduled, executed, or aborted."""

completions = facts("completions", number("request"), text("reason", 20), indexed_by=(("request",),))
"""Ends of swap requests."""

fees = facts(
    "fees",
    text("kind", 12),
    text("account", 60, null=True),
    text("asset", 12),
    amount("amount"),
    number("request", null=True),
    text("chain", 12, null=True),
    number("channel", null=True),
    number("opened", null=True),
    has_place=True,
    indexed_by=(("request",), ("kind",)),
    ordered_by=(("account",),),
)
"""Fees; `kind` is ingress, egress, network, broker, boost, refund, opening, or transaction; `account` is the
owner of the swap, channel or transaction."""

commissions = facts(
    "commissions",
    text("account", 60),
    text("broker", 60, null=True),
    number("request"),
    number("swap"),
    text("asset", 12),
    amount("amount"),
    has_place=True,
    indexed_by=(("request",),),
    ordered_by=(("account",),),
)
"""Parts of a broker fee: the amount that each account got from a swap of `broker`'s."""

payouts = facts(
    "payouts",
    text("kind", 12),
    text("state", 12),
    text("chain", 12),
    number("egress", null=True),
    number("request", null=True),
    text("account", 60, null=True),
    text("asset", 12),
    amount("amount", null=True),
    receiver("destination", null=True),
    number("broadcast", null=True),
    text("reason", null=True),
    text("explanation", null=True),
    indexed_by=(("chain", "egress"), ("request",), ("destination",)),
    ordered_by=(("account",),),
)
"""Payouts; `kind` is swap, refund, withdrawal, liquidity, deposit (refunded without a swap), or rejection (of
a deposit, by the broker: a `broadcast`, and no amount); `state` is scheduled, ignored (below the minimum),
invalid (a message that cannot be sent), or credited (to an account of the chain); `explanation` is the
runtime's text about a module error in `reason`."""

broadcasts = facts(
    "broadcasts",
    text("chain", 12),
    number("broadcast"),
    number("egress", null=True),
    has_place=True,
    indexed_by=(("chain", "broadcast"), ("chain", "egress")),
)
"""Broadcasts: the payouts (`egress`) in each transaction."""

outcomes = facts(
    "outcomes",
    text("chain", 12),
    number("broadcast"),
    text("state", 12),
    text("transaction", null=True),
    indexed_by=(("chain", "broadcast"), ("transaction",)),
)
"""Outcomes of broadcasts; `state` is sent, success, aborted, timeout, refused (a message that failed), signed
(the call that recovers a failed transfer), outdated (that call, of which a new signature will come), or
expired (that call)."""

failures = facts(
    "failures",
    text("chain", 12),
    text("asset", 12),
    amount("amount"),
    receiver("destination"),
    number("broadcast"),
    number("egress", null=True),
    indexed_by=(("chain", "egress"), ("chain", "broadcast"), ("destination",)),
)
"""Transfers that their receiver rejected; `broadcast` is that of the call that recovers the transfer,
`egress` the payout."""

movements = facts(
    "movements",
    text("account", 60),
    text("asset", 12),
    Column("credit", Boolean, nullable=False),
    amount("amount"),
    amount("balance"),
    indexed_by=(("account", "asset"),),
)
"""Credits and debits of free balances, and the balance after each."""

holdings = facts(
    "holdings",
    text("account", 60),
    text("asset", 12),
    text("kind", 12),
    Column("credit", Boolean, nullable=False),
    amount("amount"),
    has_place=True,
    indexed_by=(("account", "asset"),),
)
"""Changes that other events than credits and debits state. Asset FLIP: what an account has on the State Chain
to pay fees with (Flip is its deposited balance); `kind` is funded, fee, opening, slashed, redemption,
rebalanced, reward, minted or reaped. Kind boost: the boost pool of a development chain."""

affiliates = facts(
    "affiliates",
    text("broker", 60),
    number("short_id"),
    text("account", 60),
    text("address", null=True),
    Column("registered", Boolean, nullable=False),
    indexed_by=(("broker",),),
)

prices = facts("prices", text("source", 8), text("asset", 12), text("value", 80), has_place=True)
"""Prices at a block with facts (`event` is 0). Source pool: the square root of the price in USDC times 2^96,
in smallest units; oracle: the price in dollars times 2^128."""

expectations = Table(
    "expectations",
    metadata,
    Column("chain", String(12), primary_key=True),
    Column("channel", BigInteger, primary_key=True, autoincrement=False),
    Column("block", BigInteger, primary_key=True, autoincrement=False),
    amount("amount"),
    number("time", null=True),
    text("opening", null=True),
)
"""The amounts that the swap service's users announced for its channels; `block` is the channel's. `opening`
has the fields of the channel's event, as far as the service knows them, and `time` is its block's: they
answer until that block is in the books."""

SEARCH: Final = tuple(
    Index(f"{table.name}_by_{name}", table.c[name], table.c.block, table.c.event)
    for table, name in ((channels, "destination"), (requests, "destination"), (requests, "refund_address"))
)
"""Indexes of the search (`search.py`), which give the newest rows with an address first."""

BY_BLOCK: Final = tuple(
    table
    for name, table in metadata.tables.items()
    if name not in ("ledger", "blocks", "gaps", "expectations", *service_tables.NAMES)
)
"""Tables whose rows are deleted when the books go back to a block."""
