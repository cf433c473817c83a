"""The generator of `docs/reference/rpc.md`, from the rows of the method table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cfnode.rpc.cf.rows import CF, MONITORING
from cfnode.rpc.methods import BROKER_METHODS, LP, AnyMethod, with_list
from cfnode.rpc.substrate import author, chain, childstate, grandpa, offchain, payment, state, system
from cfnode.rpc.table.rows import SIGNING, Access, Param, Subscription, Table
from cfnode.rpc.v1 import archive, chain_head, chain_spec, transactions

Section = tuple[str, str, tuple[AnyMethod, ...]]
"""The title, text and rows of a section."""

SECTIONS: Final[tuple[Section, ...]] = (
    ("system, rpc", "Identity, health and peers of the node.", system.METHODS),
    ("chain", "Blocks and headers.", chain.METHODS),
    ("state", "Storage, runtime calls, metadata.", state.METHODS),
    ("childstate", "Storage of child tries.", childstate.METHODS),
    ("author", "Transactions and keys.", author.METHODS),
    ("offchain", "The storage of offchain workers, of which none run here.", offchain.METHODS),
    ("payment", "Fees of a transaction.", payment.METHODS),
    ("grandpa", "Finality.", grandpa.METHODS),
    ("chainSpec", "The new JSON-RPC interface: identity of the chain.", chain_spec.METHODS),
    ("chainHead", "The new JSON-RPC interface: the head of the chain.", chain_head.METHODS),
    ("transaction", "The new JSON-RPC interface: transactions.", transactions.METHODS),
    ("archive", "The new JSON-RPC interface: the past, only where nothing is pruned.", archive.METHODS),
    ("cf", "Answers of the State Chain's runtime at block `at`.", CF),
    ("cf_monitoring", "The figures that operators watch.", MONITORING),
    ("broker", "Only with exactly one broker key in the keystore; the node signs.", BROKER_METHODS),
    ("lp", "Only with exactly one liquidity provider's key in the keystore; the node signs.", LP),
)

HEAD: Final = """\
# JSON-RPC methods

Generated from the method table.

HTTP (`POST /`, `application/json`) and WebSocket share one port, 9944 by default. Parameters go by position
or by name, in snake_case or lowerCamelCase. `?` marks an optional one: leave it out or give `null`. `at` is a
block hash, by default the best block's. Subscriptions need a WebSocket. Batches hold up to 100
requests (`--rpc-max-batch-request-len`).

*unsafe* methods are answered only where `--rpc-methods` allows it: by default while the node listens on this
machine alone. *spends* marks methods that sign with the broker's or liquidity provider's key. Any program
that reaches the port may call the methods of both, unless `--rpc-broker-clients` names networks or
`--rpc-auth-token-file` tokens; a web page may only where `--rpc-cors` lists its origin by name (`all` does
not). *not while syncing* marks methods that are refused until `system_health` reports `isSyncing` false.

Errors: [error codes](errors.md).
"""


def page(*further: Section) -> str:
    """Return the whole page as markdown.

    `further`: sections of higher layers.
    """
    sections = "\n".join(_section(title, text, rows) for title, text, rows in (*SECTIONS, *further))
    return f"{HEAD}\n{sections}"


def _section(title: str, text: str, rows: tuple[AnyMethod, ...]) -> str:
    if rows is system.METHODS:
        rows = with_list(rows).rows
    lines = "\n".join(line for row in rows for line in _row(row))
    return f"## {title}\n\n{text}\n\n| method | parameters | |\n|---|---|---|\n{lines}\n"


def _row(row: AnyMethod) -> Iterator[str]:
    names = " ".join(f"`{name}`" for name in (row.name, *row.aliases))
    parameters = ", ".join(_parameter(param) for param in row.params) or "–"
    yield f"| {names} | {parameters} | {' '.join([row.doc, *_marks(row)])} |"


def _parameter(param: Param) -> str:
    shape = param.reader.shape.replace("|", "\\|")
    return f"{param.name}{'?' if param.optional else ''}: {shape}"


def _marks(row: AnyMethod) -> Iterator[str]:
    if isinstance(row, Subscription):
        ends = " ".join(f"`{name}`" for name in (row.unsubscribe, *row.unsubscribe_aliases))
        yield f"*Subscription*: messages `{row.notification}`, ends with {ends}."
    if row.access is Access.UNSAFE:
        yield "*unsafe*"
    if row.access in SIGNING and row.submits:
        yield "*spends*"
    if row.unsafe_if is not None:
        yield "*unsafe* without its parameter"
    if row.submits:
        yield "*not while syncing*"


def full_table(*further: Section) -> Table:
    """Return a table of every row.

    `further`: sections of higher layers.
    """
    return with_list([row for _, _, rows in (*SECTIONS, *further) for row in rows])
