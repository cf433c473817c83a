"""`dev_*` methods that simulate the foreign chains: deposits, receivers, broadcasts, the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from cfnode.core.assets import ASSETS
from cfnode.devchain.methods.common import block_hash_of, control_of, unsafe_methods
from cfnode.devchain.methods.values import (
    ASSET,
    CHAIN,
    FEED,
    check_channel,
    check_deposit,
    check_vault_swap,
    checked_address,
)
from cfnode.rpc.cf.vault_swaps import VAULT_SWAP
from cfnode.rpc.table.convert import (
    ACCOUNT,
    AMOUNT,
    BOOL,
    HASH,
    TEXT,
    U32,
)
from cfnode.rpc.table.rows import Param
from cfnode.swaps.addresses import repeated_address

if TYPE_CHECKING:
    from cfnode.node.node import Node

DEFAULT_FUNDS_ATOMS: Final = 1_000 * 10**18


async def fund_account(node: Node, account: bytes, amount: int | None) -> str:
    """Fund an account with FLIP, in atoms (default: 1,000 FLIP); returns the block's hash."""
    return block_hash_of(
        await control_of(node).fund_account(account, DEFAULT_FUNDS_ATOMS if amount is None else amount)
    )


async def deposit(node: Node, address: str, asset: str, amount: int, transaction: bytes | None) -> str:
    """Witness a deposit (smallest unit) at an address, in a transaction (hash); returns the block's hash.

    A refused deposit is an error with the reason, and with the block's hash in its data.
    """
    chain = ASSETS[asset].chain
    account = checked_address(chain, address, "address")
    included = await control_of(node).witness_deposit(account, asset, amount, transaction)
    return await check_deposit(node, included, account, amount, repeated_address(chain, address))


async def announce_deposit(
    node: Node, address: str, asset: str, amount: int, transaction: bytes | None
) -> str:
    """Prewitness a deposit into an open channel: unconfirmed, it may be boosted; returns the block's hash."""
    chain = ASSETS[asset].chain
    place = checked_address(chain, address, "address")
    await check_channel(node, place, asset, repeated_address(chain, address))
    return block_hash_of(await control_of(node).announce_deposit(place, asset, amount, transaction))


async def send_to_vault(
    node: Node,
    vault_swap: tuple[str, Any],
    amount: int | None,
    sender: str | None,
    transaction: bytes | None,
    final: bool | None,
) -> str:
    """Send the result of `broker_request_swap_parameter_encoding` as a user would; returns the block's hash.

    On Bitcoin `amount` is the amount paid, and `sender` the address of the next output, which gets a refund.
    With `final` false the transaction is prewitnessed but not confirmed, and may be boosted.
    """
    chain, _ = vault_swap
    address = None if sender is None else checked_address(chain, sender, "sender")
    payment = (address, amount, transaction)
    included = await control_of(node).send_to_vault(vault_swap, *payment, final=final is not False)
    return await check_vault_swap(node, included)


async def fail_receiver(node: Node, address: str, asset: str, fails: bool | None) -> str:
    """Make transfers of an asset to an address fail from now on; with false, make them succeed again."""
    account = checked_address(ASSETS[asset].chain, address, "address")
    return block_hash_of(await control_of(node).fail_receiver(account, asset, fails is not False))


async def abort_broadcast(node: Node, chain: str) -> str:
    """Abort the next broadcast to a chain; returns the block's hash."""
    return block_hash_of(await control_of(node).abort_next_broadcast(chain))


async def hold_broadcasts(node: Node, chain: str, hold: bool | None) -> str:
    """Hold all transactions to a chain; with false, release them. Returns the block's hash."""
    return block_hash_of(await control_of(node).hold_broadcasts(chain, hold is not False))


async def fail_broadcast(node: Node, chain: str, broadcast_id: int | None) -> str:
    """Fail the authority that sends a broadcast (default: the newest); returns the block's hash."""
    return block_hash_of(await control_of(node).fail_broadcast(chain, broadcast_id))


def hold_signatures(node: Node, hold: bool | None) -> None:
    """Hold signatures for other chains; with false, release them from the next block on."""
    control_of(node).hold_signatures(hold is not False)


async def settle_redemption(node: Node, account: bytes, expired: bool | None) -> str:
    """Confirm that an account's redeemed FLIP was paid out, or expire it; returns the block's hash."""
    return block_hash_of(await control_of(node).settle_redemption(account, bool(expired)))


async def set_oracle(node: Node, feed: str, price: int | None, is_stale: bool | None) -> str:
    """Set the oracle's price of a whole unit, in microdollars, or remove it; returns the block's hash."""
    return block_hash_of(await control_of(node).set_oracle_price(feed, price, bool(is_stale)))


PLACE: Final = (Param("address", TEXT), Param("asset", ASSET))

METHODS: Final = unsafe_methods(
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
