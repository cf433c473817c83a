"""The JSON-RPC error codes: what each means, and what the caller can do.

The table is the text of `docs/reference/errors.md`. Codes and messages are those of jsonrpsee, Substrate and
`chainflip-node`, since clients depend on them. `scripts/check` compares this table with the codes that the
code raises, in both directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Meaning(NamedTuple):
    """The cases in which a code is sent, and what the caller can do about it."""

    when: str
    action: str


Section = tuple[str, str, Mapping[int, Meaning]]
"""Title, text, and the codes."""

_RETRY_BLOCK: Final = "Name a newer block, or run the node with `--state-pruning=archive`."

REQUEST: Final = {
    -32700: Meaning("The body is not JSON.", "Correct the request; nothing was executed."),
    -32600: Meaning("The JSON is not a JSON-RPC 2.0 request.", "Send `jsonrpc`, `method` and `id`."),
    -32601: Meaning(
        "The method is unknown, or this node or client may not call it; `data` gives the reason.",
        "Compare the name with [the methods](rpc.md); for an unsafe method see `--rpc-methods`, for "
        "`broker_*` or `lp_*` insert the key of that account.",
    ),
    -32602: Meaning(
        "A parameter is missing, malformed or not allowed; message or `data` names it.",
        "Correct the parameter.",
    ),
    -32603: Meaning(
        "An error without a text in a runtime API, a subscription over HTTP, or a bug, which is logged "
        "with a traceback.",
        "Subscribe over a WebSocket; otherwise look at the node's log.",
    ),
    -32000: Meaning(
        "The node refuses the call as it is now: it is still syncing, or the call needs a WebSocket; also a "
        "deposit that the development chain rejects. The message gives the reason.",
        "Do what the message names; while the node syncs, wait until `system_health` reports "
        "`isSyncing` false.",
    ),
}
LIMIT_MEANINGS: Final = {
    -32005: Meaning("Batches are disabled.", "Send single requests, or see `--rpc-disable-batch-requests`."),
    -32006: Meaning(
        "The connection has too many subscriptions, or archive reads under way.",
        "End some, use another connection, or raise `--rpc-max-subscriptions-per-connection`.",
    ),
    -32007: Meaning("The request is too big.", "Split it, or raise `--rpc-max-request-size`."),
    -32008: Meaning(
        "The answer would be too big.",
        "Ask for less, by the paged method; or raise `--rpc-max-response-size`.",
    ),
    -32009: Meaning("Too many calls are waiting.", "Try again later, with fewer calls at a time."),
    -32010: Meaning("The batch has too many entries.", "Split it, or raise `--rpc-max-batch-request-len`."),
    -32011: Meaning("The answers of the batch would be too big together.", "Split the batch."),
}
CHAINFLIP: Final = {
    -32020: Meaning("The call failed; the message gives the reason.", "Correct what the message names."),
    -32021: Meaning(
        "The runtime refused the call with `DispatchError: …`.",
        "Look at the error's name; correct the arguments.",
    ),
    -32022: Meaning(
        "The block is unknown, its state is discarded, or the runtime failed to execute the call.",
        _RETRY_BLOCK,
    ),
    -32023: Meaning("The node cannot read its database.", "Look at the node's log and its disk."),
    -32024: Meaning(
        "A transaction of the broker or the liquidity provider was refused or failed, or is not yet in a "
        "block (`data.tx_hash`). A hint may be in `data`.",
        "With `data.tx_hash`, look for that transaction before you send again; otherwise correct the call.",
    ),
    -32025: Meaning(
        "The transaction is in a block, and its events cannot be read.",
        "Do not send it again; look at the block's events.",
    ),
    -32026: Meaning(
        "The runtime of that block lacks the API, or a value of it.", "Name a block of a newer runtime."
    ),
}
STATE: Final = {
    1: Meaning(
        "`system_accountNextIndex`, `system_dryRun`, `payment_*`: the runtime or the state is not available "
        "(`data`); `grandpa_roundState`: the node does not vote.",
        _RETRY_BLOCK,
    ),
    2: Meaning("`system_dryRun`, `payment_*`: the extrinsic is malformed.", "Encode it again."),
    4: Meaning("`grandpa_proveFinality`: there is no proof for that block.", "Name a block that is final."),
    2000: Meaning("`system_addLogFilter`: a directive is malformed.", "Write `target=level,…`."),
    2002: Meaning(
        "A reserved peer's address or id is malformed.", "Write `/ip4/…/tcp/…/p2p/…`, or the peer id."
    ),
    3001: Meaning(
        "A block number above 2^32 - 1, or a malformed parameter of `archive_*`.", "Correct the parameter."
    ),
    4001: Meaning(
        "The range of blocks is unknown, too long, or not of the best chain; blocks are not traced.",
        "Ask for a shorter range.",
    ),
    4002: Meaning("`count` is above the maximum page.", "Ask for smaller pages."),
    4003: Meaning(
        "The block is unknown, its state is discarded, or the read failed; the message gives the reason.",
        _RETRY_BLOCK,
    ),
    5001: Meaning("That kind of offchain storage does not exist.", "Use `PERSISTENT`."),
}
TRANSACTIONS: Final = {
    1001: Meaning("The extrinsic is malformed.", "Encode it again, with the node's metadata."),
    1002: Meaning("The runtime could not validate it.", "Try again; look at the node's log if it stays."),
    1010: Meaning(
        "The transaction is invalid: `data` names the reason (outdated nonce, fees, signature, …).",
        "Read the nonce and the balance again, and sign again.",
    ),
    1011: Meaning("The runtime cannot decide whether it is valid.", "Try again after the next block."),
    1012: Meaning(
        "It was found invalid, dropped or included within the last half hour.", "Sign it anew, or wait."
    ),
    1013: Meaning("It is already in the pool; `data` has its hash.", "Nothing: wait for its block."),
    1014: Meaning(
        "A transaction with the same nonce in the pool has as much priority.",
        "Use the next nonce, or tip more.",
    ),
    1015: Meaning("It would replace a transaction that it depends on.", "Check the nonces."),
    1016: Meaning("The pool is full of transactions with a higher priority.", "Try again later."),
    1018: Meaning("It is local to an author, and this node authors no blocks.", "Send it to an author."),
    1019: Meaning("It provides no tags, so the pool cannot identify it.", "Encode it again."),
    1030: Meaning("The node authors no blocks, so it has no session keys.", "Use `cfnode key insert`."),
    1040: Meaning(
        "The extrinsic is malformed, or a key cannot be read or stored; the message gives the reason.",
        "Correct what the message names.",
    ),
}
HEAD: Final = {
    -32800: Meaning("The connection follows the chain too often already.", "End one with `unfollow`."),
    -32801: Meaning("The block is not pinned by this subscription.", "Use a block it has announced."),
    -32802: Meaning("The subscription was opened without the runtime.", "Follow with `withRuntime: true`."),
    -32803: Meaning(
        "The operation does not wait for `continue`.", "Wait for its event `operationWaitingForContinue`."
    ),
    -32804: Meaning("`chainHead_v1_unpin` names a block twice.", "Name each block once."),
}

SECTIONS: Final[tuple[Section, ...]] = (
    ("Requests", "Codes of the specification, and the one with which a node refuses a call.", REQUEST),
    ("Limits of the server", "Each is a flag of `cfnode run` or a fixed bound.", LIMIT_MEANINGS),
    ("Chainflip's own methods", "`cf_*`, `broker_*` and `dev_*`.", CHAINFLIP),
    ("Blocks and state", "`chain_*`, `state_*`, `system_*`, `payment_*`, `archive_*` and their like.", STATE),
    ("Transactions and keys", "`author_*`: the codes of Substrate's transaction pool.", TRANSACTIONS),
    ("Following the head", "`chainHead_v1_*`.", HEAD),
)


def documented() -> dict[int, Meaning]:
    """Return every code of the table with its meaning."""
    return {code: meaning for _, _, codes in SECTIONS for code, meaning in codes.items()}
