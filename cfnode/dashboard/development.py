"""Actions of the page on a development chain, by `dev_*` methods: deposits, prices, failures, time.

Each form has the name of an action and its fields. A field that cannot be read, and what the node refuses,
becomes a sentence for the page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from cfnode.core.assets import ASSETS, CHAINS, ForeignAsset, units
from cfnode.dashboard.amounts import smallest_units
from cfnode.dashboard.node import RpcNode
from cfnode.swaps.addresses import repeated_address

__all__ = ["ACTIONS", "BadField", "perform"]

MAX_NEW_BLOCKS: Final = 100
MAX_JUMP_S: Final = 30 * 86_400
MAX_ACTION_FIELD_CHARS: Final = 300
Fields = Mapping[str, str]


class BadField(ValueError):
    """Error for a field of a form that cannot be read; the text names it, and what is expected."""


async def perform(node: RpcNode, action: str, fields: Fields) -> str:
    """Do an action, and describe it in a sentence. Raise BadField, CallError, NodeError."""
    return await ACTIONS[action](node, fields)


async def _deposit(node: RpcNode, fields: Fields) -> str:
    address, asset = _text(fields, "address"), _asset(fields)
    amount = _amount(fields, "amount", asset.decimals)
    method = "dev_announceDeposit" if fields.get("unconfirmed") else "dev_deposit"
    await node.call(method, address, asset.name, amount)
    place = repeated_address(asset.chain, address)
    return f"Deposited {units(amount, asset.decimals)} {asset.symbol} at {place}."


async def _price(node: RpcNode, fields: Fields) -> str:
    asset = _asset(fields)
    price = _amount(fields, "price", 6)
    await node.call("dev_setPool", asset.name, price)
    return f"The pool's price of {asset.symbol} is {units(price, 6)} USDC now."


async def _receiver(node: RpcNode, fields: Fields) -> str:
    address, asset, fails = _text(fields, "address"), _asset(fields), fields.get("fails") == "yes"
    await node.call("dev_failReceiver", address, asset.name, fails)
    receiver, outcome = repeated_address(asset.chain, address), "fail" if fails else "succeed"
    return f"Transfers of {asset.symbol} to {receiver} {outcome} from now on."


async def _broadcast(node: RpcNode, fields: Fields) -> str:
    chain = _chain(fields)
    match fields.get("what"):
        case "abort":
            await node.call("dev_abortBroadcast", chain)
            return f"The next broadcast to {chain} will be aborted."
        case "hold":
            await node.call("dev_holdBroadcasts", chain, True)
            return f"Transactions to {chain} are held."
        case "release":
            await node.call("dev_holdBroadcasts", chain, False)
            return f"Transactions to {chain} are released."
    raise BadField("Unknown action for broadcasts; choose abort, hold or release.")


async def _blocks(node: RpcNode, fields: Fields) -> str:
    count = _whole(fields, "count", MAX_NEW_BLOCKS)
    for _ in range(count):
        await node.call("dev_newBlock")
    return "Sealed a block." if count == 1 else f"Sealed {count} blocks."


async def _finality(node: RpcNode, fields: Fields) -> str:
    match fields.get("what"):
        case "finalize":
            await node.call("dev_finalize")
            return "Finalized the best block."
        case "hold":
            await node.call("dev_holdFinality", True)
            return "Finality paused."
        case "release":
            await node.call("dev_holdFinality", False)
            return "Finality resumed."
    raise BadField("Unknown action for finality; choose finalize, hold or release.")


async def _time(node: RpcNode, fields: Fields) -> str:
    seconds = _whole(fields, "seconds", MAX_JUMP_S)
    await node.call("dev_timeTravel", seconds * 1000)
    return f"Moved the chain's clock {seconds} s forward; the next block has the new time."


ACTIONS: Final[dict[str, Callable[[RpcNode, Fields], Awaitable[str]]]] = {
    "deposit": _deposit,
    "price": _price,
    "receiver": _receiver,
    "broadcast": _broadcast,
    "blocks": _blocks,
    "finality": _finality,
    "time": _time,
}


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name, "").strip()
    if not value or len(value) > MAX_ACTION_FIELD_CHARS or not value.isprintable():
        raise BadField(f"The {name} is missing or malformed.")
    return value


def _asset(fields: Fields) -> ForeignAsset:
    asset = ASSETS.get(fields.get("asset", ""))
    if asset is None:
        raise BadField("Choose one of the listed assets.")
    return asset


def _chain(fields: Fields) -> str:
    chain = fields.get("chain", "")
    if chain not in CHAINS:
        raise BadField("Choose one of the listed chains.")
    return chain


def _amount(fields: Fields, name: str, decimals: int) -> int:
    """Convert a positive number of whole units to smallest ones. Raise BadField."""
    try:
        amount = smallest_units(fields.get(name, "").strip(), decimals)
    except ValueError:
        amount = 0
    if not amount:
        raise BadField(f"The {name} is a positive number with at most {decimals} digits behind the point.")
    return amount


def _whole(fields: Fields, name: str, most: int) -> int:
    text = fields.get(name, "").strip()
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not 1 <= int(text) <= most:
        raise BadField(f"The number of {'blocks' if name == 'count' else name} is from 1 to {most}.")
    return int(text)
