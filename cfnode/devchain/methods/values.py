"""Readers of the assets and chains that `dev_*` methods take, and the errors of refused deposits.

All other methods accept the forms of the official node, which has no `dev_*` methods. These also accept the
forms of the command line, in upper or lower case: `btc`, `Bitcoin/BTC`, `arbitrum.usdc`, `ethereum`, and an
object of chain and asset. An EVM address in mixed case has to have its checksum, as on the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from cfnode.core.addresses import AddressError, EncodedAddress
from cfnode.core.assets import ASSETS, asset_of, asset_text, chain_in_text
from cfnode.core.jsonrpc import RpcError
from cfnode.core.refusals import advice_for
from cfnode.core.scale.metadata import Metadata
from cfnode.node.signing.outcome import Inclusion, dispatch_error_text, read_events, rust_debug
from cfnode.rpc.cf.method import value as runtime_value
from cfnode.rpc.cf.params import CHAIN_PARAM as OFFICIAL_CHAIN
from cfnode.rpc.cf.params import one_of
from cfnode.rpc.table.broker_params import address_on, read_asset, write_asset
from cfnode.rpc.table.convert import to_hex
from cfnode.rpc.table.rows import Param, Reader
from cfnode.swaps.addresses import read_address
from cfnode.swaps.events import Name

if TYPE_CHECKING:
    from cfnode.node.node import Node

__all__ = ["ASSET", "CHAIN", "DEV_REFUSAL_CODE", "FEED", "check_channel", "check_deposit", "check_vault_swap"]
__all__ += ["checked_address"]

DEV_REFUSAL_CODE: Final = -32000
_FEEDS: Final = one_of("Btc", "Eth", "Sol", "Usdc", "Usdt")
_MEANINGS: Final = {
    "BelowMinimumDeposit": "the amount is below the chain's minimum; give more",
    "NotEnoughToPayFees": "the amount does not pay the chain's fees; give more",
    "TransactionRejectedByBroker": "the broker marked the transaction for rejection, and it is refunded",
}
"""Texts for reasons of `DepositFailed`; module errors have their own."""


def _read_asset(value: Any) -> str:
    match value:
        case str() | {"chain": str(), "asset": str()}:
            return read_asset(write_asset(asset_of(value).name))  # an asset that the runtime has
    return read_asset(value)


def _read_chain(value: Any) -> Any:
    return OFFICIAL_CHAIN.reader.read(chain_in_text(value).name if isinstance(value, str) else value)


def _read_feed(value: Any) -> Any:
    return _FEEDS.read(asset_of(value).name if isinstance(value, str) else value)


ASSET: Final = Reader("asset, also as text", _read_asset)
CHAIN: Final = Param("chain", Reader(OFFICIAL_CHAIN.reader.shape, _read_chain))
FEED: Final = Reader(_FEEDS.shape, _read_feed)


def checked_address(chain: str, text: str, name: str) -> EncodedAddress:
    """Return the address of a chain that a person wrote. Raises RpcError."""
    address_on(chain, text, name)  # which refuses a malformed one with the official node's text
    try:
        return read_address(chain, text)
    except AddressError as error:
        raise RpcError(DEV_REFUSAL_CODE, f"{name}: {error}") from None


async def check_channel(node: Node, address: EncodedAddress, asset: str, text: str) -> None:
    """Raise RpcError if no deposit channel of an asset is open at an address, which is written as `text`.

    The chain ignores an unconfirmed deposit without a channel.
    """
    owners = await runtime_value(node, node.chain.best.hash, "cf_all_open_deposit_channels")
    accounts = [account for _, _, owned in owners for account in owned["chain_accounts"]]
    taken = {channel_asset for place, channel_asset in accounts if place == address}
    if asset in taken:
        return
    chain = ASSETS[asset].chain
    advice = "open one with broker_request_swap_deposit_address (`cfnode swap request`)"
    reason = f"no deposit channel of {chain} is open at {text:.100}; {advice}"
    if taken:
        texts = ", ".join(asset_text(ASSETS[name]) for name in sorted(taken))
        reason = f"the deposit channel at {text:.100} is for {texts}, not for {asset_text(ASSETS[asset])}"
    raise RpcError(DEV_REFUSAL_CODE, f"Deposit rejected: {reason}")


async def check_deposit(
    node: Node, inclusion: Inclusion, address: EncodedAddress, amount: int, text: str
) -> str:
    """Return the hash (hex) of the block that accepted a deposit at an address.

    Raises RpcError with the reason of a refusal. The block exists then too: `data` has its hash, and the name
    of the reason.
    """

    def is_this(details: Any) -> bool:
        witness = details.get("deposit_witness", {})
        deposit_address = witness.get("deposit_address")  # Bitcoin's is a script, which is not compared
        return witness.get("amount") == amount and (
            not isinstance(deposit_address, bytes) or deposit_address == address[1]
        )

    return await _check_taken(node, inclusion, is_this, f" ({text:.100})")


async def check_vault_swap(node: Node, inclusion: Inclusion) -> str:
    """Return the hash (hex) of the block that accepted a vault's transaction. Raises RpcError if refused."""
    return await _check_taken(node, inclusion, lambda details: "vault_witness" in details)


async def _check_taken(
    node: Node, inclusion: Inclusion, is_this: Callable[[Any], bool], place: str = ""
) -> str:
    """Return the block's hash (hex); raise RpcError if it refused the deposit for which `is_this` holds.

    A chain's deposits are processed at the end of the block, not in the extrinsic.
    """
    block = to_hex(inclusion.block.hash)
    for event in await read_events(node.chain, inclusion.block.hash):
        if event.name == Name.DEPOSIT_FAILED and is_this(event.fields["details"][1]):
            metadata = (await node.chain.runtime_executing(inclusion.block.hash)).metadata
            name, explanation = _reason(metadata, event.fields["reason"])
            text = f"Deposit rejected: {name}" + (f": {explanation}" if explanation else "")
            if step := advice_for(name):
                text = f"{text.rstrip('.')}{place}; {step}"
            raise RpcError(DEV_REFUSAL_CODE, text, {"block": block, "reason": name})
    return block


def _reason(metadata: Metadata, reason: Any) -> tuple[str, str]:
    """Return name and text of a `DepositFailedReason`, those of the inner error if there is one."""
    if not isinstance(reason, tuple):
        return reason, _MEANINGS.get(reason, "")
    kind, error = reason
    if isinstance(error, tuple) and error[0] == "Module":
        _, name, explanation = metadata.error(error[1]["index"], error[1]["error"])
        return name, explanation
    inner = dispatch_error_text(metadata, error) if kind == "DepositWitnessRejected" else rust_debug(error)
    return kind, inner
