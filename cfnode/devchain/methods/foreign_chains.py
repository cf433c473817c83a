"""How does a test play the chains around the State Chain: deposits, receivers, broadcasts, the oracle?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.assets import ASSETS
from cfnode.devchain.methods.steering import block_hash_of, control_of, rows
from cfnode.devchain.methods.values import ASSET, CHAIN, FEED, taken_deposit, taken_vault_swap
from cfnode.rpc.broker_params import address_on
from cfnode.rpc.cf.vault_swaps import VAULT_SWAP
from cfnode.rpc.convert import (
    ACCOUNT,
    AMOUNT,
    BOOL,
    HASH,
    TEXT,
    U32,
)
from cfnode.rpc.table import Param

if TYPE_CHECKING:
    from cfnode.node.node import Node

FUNDS: Final = 1_000 * 10**18


async def fund_account(node: Node, account: bytes, amount: int | None) -> str:
    """Give an account FLIP, in atoms (default: 1,000 FLIP), in a block; the block's hash."""
    return block_hash_of(await control_of(node).fund_account(account, FUNDS if amount is None else amount))


async def deposit(node: Node, address: str, asset: str, amount: int, transaction: bytes | None) -> str:
    """See a deposit (in the smallest unit) at an address, in a transaction (hash); the block's hash.

    A deposit that the chain refuses is an error with the reason, and the block's hash in its data.
    """
    place = address_on(ASSETS[asset].chain, address)
    included = await control_of(node).witness_deposit(place, asset, amount, transaction)
    return await taken_deposit(node, included, place, amount)


async def announce_deposit(
    node: Node, address: str, asset: str, amount: int, transaction: bytes | None
) -> str:
    """See a deposit that its chain has not yet confirmed: it may be boosted; the block's hash."""
    place = address_on(ASSETS[asset].chain, address)
    return block_hash_of(await control_of(node).announce_deposit(place, asset, amount, transaction))


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
    included = await control_of(node).send_to_vault(vault_swap, *sent, final=final is not False)
    return await taken_vault_swap(node, included)


async def fail_receiver(node: Node, address: str, asset: str, fails: bool | None) -> str:
    """Let transfers of an asset to an address fail from now on; with false let them go through."""
    place = address_on(ASSETS[asset].chain, address)
    return block_hash_of(await control_of(node).fail_receiver(place, asset, fails is not False))


async def abort_broadcast(node: Node, chain: str) -> str:
    """Let nobody be able to send the next transaction to a chain; the block's hash."""
    return block_hash_of(await control_of(node).abort_next_broadcast(chain))


async def hold_broadcasts(node: Node, chain: str, hold: bool | None) -> str:
    """Let no transaction reach a chain; with false let them again, also those held back; the block's hash."""
    return block_hash_of(await control_of(node).hold_broadcasts(chain, hold is not False))


async def fail_broadcast(node: Node, chain: str, broadcast_id: int | None) -> str:
    """Let the authority that was asked to send a broadcast (default: the newest) fail; the block's hash."""
    return block_hash_of(await control_of(node).fail_broadcast(chain, broadcast_id))


def hold_signatures(node: Node, hold: bool | None) -> None:
    """Let nothing be signed for other chains; with false let it be signed again, from the next block on."""
    control_of(node).hold_signatures(hold is not False)


async def settle_redemption(node: Node, account: bytes, expired: bool | None) -> str:
    """Let FLIP that an account redeems have been paid out, or its time be over; the block's hash."""
    return block_hash_of(await control_of(node).settle_redemption(account, bool(expired)))


async def set_oracle(node: Node, feed: str, price: int | None, is_stale: bool | None) -> str:
    """Let the oracle say a price (of a whole unit, in microdollars), or nothing; the block's hash."""
    return block_hash_of(await control_of(node).read_oracle(feed, price, bool(is_stale)))


PLACE: Final = (Param("address", TEXT), Param("asset", ASSET))

METHODS: Final = rows(
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
        "dev_setOracle",
        set_oracle,
        (
            Param("feed", FEED),
            Param("price", AMOUNT, optional=True),
            Param("stale", BOOL, optional=True),
        ),
    ),
)
