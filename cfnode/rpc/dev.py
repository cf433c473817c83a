"""The `dev_*` methods: a development chain does what a test wants, when it wants it.

They exist only on a node that authors its own chain, and are unsafe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.assets import ASSETS
from cfnode.core.jsonrpc import InvalidParams, RpcError
from cfnode.devchain.chain import development_chain
from cfnode.devchain.control import DevControl
from cfnode.node.outcome import Inclusion, read_events
from cfnode.rpc import dev_snapshots
from cfnode.rpc.broker_params import address_on
from cfnode.rpc.cf.params import one_of
from cfnode.rpc.cf.vault_swaps import VAULT_SWAP
from cfnode.rpc.convert import (
    ACCOUNT,
    AMOUNT,
    BOOL,
    BYTES,
    HASH,
    TEXT,
    U32,
    U64,
    excerpt,
    listed,
    to_hex,
)
from cfnode.rpc.dev_values import ASSET, CHAIN, FEED, REFUSED, taken_deposit, taken_vault_swap
from cfnode.rpc.serde_types import Struct
from cfnode.rpc.table import Access, Method, Param, Reader
from cfnode.rpc.typed import read_call
from cfnode.runtime.dev.release_names import RELEASE_NAMES

if TYPE_CHECKING:
    from cfnode.node.node import Node

MAX_TRANSACTIONS: Final = 4096
MAX_AUTHORITIES: Final = 10_000
MOST_EXACT: Final = 2**53
"""Integers beyond it are not exact in every reader of JSON."""
FUNDS: Final = 1_000 * 10**18

TRANSACTIONS: Final = listed(BYTES, MAX_TRANSACTIONS)
_NEW_BLOCK: Final = Struct(
    "an object",
    {
        "parent": (HASH.read, True),
        "transactions": (TRANSACTIONS.read, True),
        "finalize": (BOOL.read, True),
    },
)


def _dev(node: Node) -> DevControl:
    made = development_chain(node)
    assert made is not None  # the rows are in the table only then
    return made.control


def _read_parent(value: Any) -> bytes | dict[str, Any]:
    """A block's hash, or all options of `dev_newBlock` in one object."""
    if not isinstance(value, dict):
        block: bytes = HASH.read(value)
        return block
    if unknown := sorted(set(value) - set(_NEW_BLOCK.members)):
        raise ValueError(f"unknown member {excerpt(unknown[0])}; there are {', '.join(_NEW_BLOCK.members)}")
    return _NEW_BLOCK(value)


def _read_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {excerpt(value)}")
    return value


async def new_block(
    node: Node, place: bytes | dict[str, Any] | None, transactions: list[bytes] | None, final: bool | None
) -> str:
    """Make a block now; its hash.

    On `parent` (any block that can still win; default: the best), of exactly `transactions` (default: what
    the pool offers), final at once with `finalize`; by name, by position, or as one object. A transaction
    that the runtime does not take is an error that names it; the block is there all the same.
    """
    if isinstance(place, dict):
        parent, transactions, final = (place[name] for name in _NEW_BLOCK.members)
    else:
        parent = place
    made = await _dev(node).new_block(parent, transactions, bool(final))
    if made.refused and transactions is not None:
        reasons = {to_hex(tx_hash): reason for tx_hash, reason in made.refused}
        text = f"block {to_hex(made.block.hash)} was made without {len(reasons)} of its transactions"
        raise RpcError(REFUSED, text, reasons)
    return to_hex(made.block.hash)


async def finalize(node: Node, block_hash: bytes | None) -> str:
    """Make a block (default: the best) and all before it final; its hash."""
    return to_hex(await _dev(node).finalize(block_hash))


async def hold_finality(node: Node, hold: bool | None) -> None:
    """Stop automatic finality; with false let it go on and catch up."""
    await _dev(node).hold_finality(hold is not False)


def silence(node: Node, authorities: list[int]) -> None:
    """From now on exactly these authorities (indices) sign no votes."""
    _dev(node).silence(authorities)


async def fund_account(node: Node, account: bytes, amount: int | None) -> str:
    """Give an account FLIP, in atoms (default: 1,000 FLIP), in a block; the block's hash."""
    return _block(await _dev(node).fund_account(account, FUNDS if amount is None else amount))


async def deposit(node: Node, address: str, asset: str, amount: int, transaction: bytes | None) -> str:
    """See a deposit (in the smallest unit) at an address, in a transaction (hash); the block's hash.

    A deposit that the chain refuses is an error with the reason, and the block's hash in its data.
    """
    place = address_on(ASSETS[asset].chain, address)
    included = await _dev(node).witness_deposit(place, asset, amount, transaction)
    return await taken_deposit(node, included, place, amount)


async def announce_deposit(
    node: Node, address: str, asset: str, amount: int, transaction: bytes | None
) -> str:
    """See a deposit that its chain has not yet confirmed: it may be boosted; the block's hash."""
    place = address_on(ASSETS[asset].chain, address)
    return _block(await _dev(node).announce_deposit(place, asset, amount, transaction))


async def send_to_vault(
    node: Node,
    vault_swap: tuple[str, Any],
    amount: int | None,
    sender: str | None,
    transaction: bytes | None,
    final: bool | None,
) -> str:
    """Send what `broker_request_swap_parameter_encoding` gave, as a user would; the block's hash.

    On Bitcoin `amount` says what is paid and `sender` the output that follows, to which a refund goes; with
    `final` false the transaction is seen but not yet confirmed, and may be boosted.
    """
    chain, _ = vault_swap
    address = None if sender is None else address_on(chain, sender)
    sent = (address, amount, transaction)
    included = await _dev(node).send_to_vault(vault_swap, *sent, final=final is not False)
    return await taken_vault_swap(node, included)


async def set_boost(node: Node, asset: str, amount: int, lending: bool | None) -> str:
    """Put an amount (smallest unit) into an asset's boost pool or its lending pool; the block's hash."""
    return _block(await _dev(node).set_boost_depth(asset, amount, lending=bool(lending)))


async def set_pool(node: Node, asset: str, price: int | None, depth: int | None) -> str:
    """Fill a pool anew: price of a whole unit and USDC in the pool, in microdollars; the block's hash."""
    return _block(await _dev(node).set_pool(asset, price, depth))


async def set_oracle(node: Node, feed: str, price: int | None, is_stale: bool | None) -> str:
    """Let the oracle say a price (of a whole unit, in microdollars), or nothing; the block's hash."""
    return _block(await _dev(node).read_oracle(feed, price, bool(is_stale)))


async def fail_receiver(node: Node, address: str, asset: str, fails: bool | None) -> str:
    """Let transfers of an asset to an address fail from now on; with false let them go through."""
    place = address_on(ASSETS[asset].chain, address)
    return _block(await _dev(node).fail_receiver(place, asset, fails is not False))


async def abort_broadcast(node: Node, chain: str) -> str:
    """Let nobody be able to send the next transaction to a chain; the block's hash."""
    return _block(await _dev(node).abort_next_broadcast(chain))


async def hold_broadcasts(node: Node, chain: str, hold: bool | None) -> str:
    """Let no transaction reach a chain; with false let them again, also those held back; the block's hash."""
    return _block(await _dev(node).hold_broadcasts(chain, hold is not False))


async def fail_broadcast(node: Node, chain: str, broadcast_id: int | None) -> str:
    """Let the authority that was asked to send a broadcast (default: the newest) fail; the block's hash."""
    return _block(await _dev(node).fail_broadcast(chain, broadcast_id))


def hold_signatures(node: Node, hold: bool | None) -> None:
    """Let nothing be signed for other chains; with false let it be signed again, from the next block on."""
    _dev(node).hold_signatures(hold is not False)


async def settle_redemption(node: Node, account: bytes, expired: bool | None) -> str:
    """Let FLIP that an account redeems have been paid out, or its time be over; the block's hash."""
    return _block(await _dev(node).settle_redemption(account, bool(expired)))


async def govern(node: Node, pallet: str, name: str, arguments: dict[str, Any] | None) -> str:
    """Do a call that is governance's, its arguments by name as the metadata has them; the block's hash."""
    metadata = (await node.chain.runtime_at(node.chain.best.hash)).metadata
    try:
        call = read_call(metadata, pallet, name, arguments or {})
    except ValueError as error:
        raise InvalidParams(str(error)) from None
    return _block(await _dev(node).as_governance(call))


async def upgrade(node: Node, release: str) -> str:
    """Replace the runtime by another release, which runs from the next block on; the block's hash."""
    return _block(await _dev(node).upgrade(release))


async def next_epoch(node: Node) -> str:
    """Begin the next epoch, with the keys of this one; the hash of its first block."""
    return to_hex((await _dev(node).next_epoch()).hash)


async def rotate(node: Node) -> dict[str, Any]:
    """Rotate the keys of all vaults; the new `epoch`, its first `block` (hash), and the EVM `transactions`.

    Each has `chain`, `broadcast_id`, `contract` (the key manager) and `data` (signed by the old key).
    """
    rotation = await _dev(node).rotate()
    assert rotation.block is not None
    transactions = [
        {
            "chain": each.chain,
            "broadcast_id": each.broadcast_id,
            "contract": to_hex(each.contract),
            "data": to_hex(each.data),
        }
        for each in rotation.calls
    ]
    return {"block": to_hex(rotation.block.hash), "epoch": rotation.epoch, "transactions": transactions}


def _block(inclusion: Inclusion) -> str:
    return to_hex(inclusion.block.hash)


async def events(node: Node, block_hash: bytes | None) -> list[dict[str, Any]]:
    """All events of a block (default: the best), in their order: `pallet`, `name`, `fields`.

    Bytes are hex, integers beyond 2^53 too; an enum's variant with fields is `[name, fields]`.
    """
    found = await read_events(node.chain, block_hash or node.chain.best.hash)
    return [{"pallet": each.pallet, "name": each.name, "fields": _plain(each.fields)} for each in found]


def _plain(value: Any) -> Any:
    """A decoded SCALE value as JSON."""
    if isinstance(value, bytes):
        return to_hex(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MOST_EXACT:
        return hex(value)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def time_travel(node: Node, milliseconds: int) -> int:
    """Let the chain's clock jump forward; the time of the next block, Unix milliseconds."""
    return _dev(node).jump(milliseconds)


PLACE: Final = (Param("address", TEXT), Param("asset", ASSET))
OBJECT: Final = Reader("object", _read_object)
PARENT: Final = Reader("a hash, or {parent?, transactions?, finalize?}", _read_parent)
NEW_BLOCK: Final = (
    Param("parent", PARENT, optional=True),
    Param("transactions", TRANSACTIONS, optional=True),
    Param("finalize", BOOL, optional=True),
)

_METHODS: Final = tuple(
    Method(name, handler, params=params, access=Access.UNSAFE)
    for name, handler, params in (
        ("dev_newBlock", new_block, NEW_BLOCK),
        ("dev_finalize", finalize, (Param("hash", HASH, optional=True),)),
        ("dev_holdFinality", hold_finality, (Param("hold", BOOL, optional=True),)),
        ("dev_silence", silence, (Param("authorities", listed(U32, MAX_AUTHORITIES)),)),
        (
            "dev_fundAccount",
            fund_account,
            (Param("account", ACCOUNT), Param("amount", AMOUNT, optional=True)),
        ),
        (
            "dev_deposit",
            deposit,
            (*PLACE, Param("amount", AMOUNT), Param("transaction", HASH, optional=True)),
        ),
        (
            "dev_announceDeposit",
            announce_deposit,
            (*PLACE, Param("amount", AMOUNT), Param("transaction", HASH, optional=True)),
        ),
        (
            "dev_sendToVault",
            send_to_vault,
            (
                VAULT_SWAP,
                Param("amount", AMOUNT, optional=True),
                Param("sender", TEXT, optional=True),
                Param("transaction", HASH, optional=True),
                Param("final", BOOL, optional=True),
            ),
        ),
        (
            "dev_setBoost",
            set_boost,
            (Param("asset", ASSET), Param("amount", AMOUNT), Param("lending", BOOL, optional=True)),
        ),
        (
            "dev_setPool",
            set_pool,
            (
                Param("asset", ASSET),
                Param("price", AMOUNT, optional=True),
                Param("depth", AMOUNT, optional=True),
            ),
        ),
        (
            "dev_setOracle",
            set_oracle,
            (
                Param("feed", FEED),
                Param("price", AMOUNT, optional=True),
                Param("stale", BOOL, optional=True),
            ),
        ),
        ("dev_failReceiver", fail_receiver, (*PLACE, Param("fails", BOOL, optional=True))),
        ("dev_abortBroadcast", abort_broadcast, (CHAIN,)),
        ("dev_holdBroadcasts", hold_broadcasts, (CHAIN, Param("hold", BOOL, optional=True))),
        ("dev_failBroadcast", fail_broadcast, (CHAIN, Param("broadcastId", U32, optional=True))),
        ("dev_holdSignatures", hold_signatures, (Param("hold", BOOL, optional=True),)),
        (
            "dev_settleRedemption",
            settle_redemption,
            (Param("account", ACCOUNT), Param("expired", BOOL, optional=True)),
        ),
        (
            "dev_govern",
            govern,
            (Param("pallet", TEXT), Param("call", TEXT), Param("arguments", OBJECT, optional=True)),
        ),
        ("dev_upgrade", upgrade, (Param("release", one_of(*RELEASE_NAMES)),)),
        ("dev_nextEpoch", next_epoch, ()),
        ("dev_rotate", rotate, ()),
        ("dev_events", events, (Param("at", HASH, optional=True),)),
        ("dev_timeTravel", time_travel, (Param("milliseconds", U64),)),
    )
)

METHODS: Final = (*_METHODS, *dev_snapshots.METHODS)
