"""Parts of a node's status: the calls for each, and the meaning of their answers.

Each part is a group of calls. If a node lacks one of the methods (an official node without a broker key, a
public node with few methods), only that part is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from cfnode.cli.client import METHOD_NOT_FOUND, CallRefused
from cfnode.cli.exits import CommandFailure
from cfnode.cli.status.asking import Asking, Malformed, members, number, text
from cfnode.core import ss58
from cfnode.core.assets import ASSETS, asset_by_symbol
from cfnode.core.chain_time import NOW_KEY, stored_time
from cfnode.core.foreign import ForeignError
from cfnode.core.scale import ScaleError
from cfnode.core.vault_swaps import decode_cf_parameters
from cfnode.sdk.assets import units
from cfnode.swaps.limits import MAX_COMMISSION_BPS

__all__ = ["PARTS", "read_account", "read_broker", "read_channels"]

_FLIP = ASSETS["Flip"]
_EVM_ADDRESS_BYTES = 20
_PROBE_ADDRESS = "0x" + "00" * 19 + "01"
_PROBE = (
    {"chain": "Ethereum", "asset": "ETH"},
    {"chain": "Ethereum", "asset": "USDC"},
    _PROBE_ADDRESS,
    MAX_COMMISSION_BPS,  # since a broker may have set a minimum one
    {"retry_duration": 0, "refund_address": _PROBE_ADDRESS, "min_price": "0x0"},
)
"""Terms of a swap that is never sent; their encoding contains the node's broker account."""

Report = dict[str, Any]


def _health(asking: Asking) -> Report:
    health = members(asking.call("system_health"))
    return {
        "syncing": bool(health.get("isSyncing")),
        "peers": number(health.get("peers")),
        "needsPeers": bool(health.get("shouldHavePeers")),
    }


def _target(asking: Asking) -> Report:
    state = members(asking.call("system_syncState"))
    highest = state.get("highestBlock")
    return {"target": None if highest is None else number(highest)}


def _chain(asking: Asking) -> Report:
    kind = asking.call("system_chainType")  # a text, or {"Custom": text}
    chain_type = text(kind) if isinstance(kind, str) else "Custom"
    return {"chain": text(asking.call("system_chain")), "chainType": chain_type}


def _versions(asking: Asking) -> Report:
    return {"name": text(asking.call("system_name")), "version": text(asking.call("system_version"))}


def _runtime(asking: Asking) -> Report:
    runtime = members(asking.call("state_getRuntimeVersion"))
    name, version = text(runtime.get("specName")), number(runtime.get("specVersion"))
    return {"runtime": {"specName": name, "specVersion": version}}


def _best(asking: Asking) -> Report:
    best = number(members(asking.call("chain_getHeader")).get("number"))
    return {"best": {"number": best, "hash": text(asking.call("chain_getBlockHash", best))}}


def _finalized(asking: Asking) -> Report:
    block = text(asking.call("chain_getFinalizedHead"))
    header = members(asking.call("chain_getHeader", block))
    return {"finalized": {"number": number(header.get("number")), "hash": block}}


PARTS: tuple[tuple[str, Callable[[Asking], Report]], ...] = (
    ("sync", _health),
    ("target", _target),
    ("chain", _chain),
    ("version", _versions),
    ("runtime", _runtime),
    ("best", _best),
    ("finalized", _finalized),
)
"""Name and reader of each part about the node itself; the broker's parts follow."""


def read_time(asking: Asking, block: Report) -> int | None:
    """Return the time of a block, Unix milliseconds; None of the genesis block, which has none."""
    if block["number"] == 0:
        return None
    try:
        return stored_time(asking.call("state_getStorage", NOW_KEY, block["hash"]))
    except ForeignError:
        raise Malformed("the node's answer is malformed: a block's time is expected") from None


def read_broker(asking: Asking) -> str:
    """Return the node's broker account.

    No method returns it, so it is decoded from the encoded terms of a swap.
    """
    try:
        encoded = asking.call("broker_encode_cf_parameters", *_PROBE)
    except CallRefused as error:
        if error.error.get("code") == METHOD_NOT_FOUND:
            raise CommandFailure(
                "the node has no broker key, or opens no broker methods to this address; insert one with "
                "`cfnode key insert`"
            ) from None
        raise
    try:
        terms = decode_cf_parameters(bytes.fromhex(encoded[2:]), _EVM_ADDRESS_BYTES, None)
    except (ScaleError, TypeError, ValueError):
        raise Malformed("the node's answer is malformed: the terms of a swap are expected") from None
    return ss58.encode(terms.broker)


def read_account(asking: Asking, account: str) -> Report:
    """Return role, FLIP and earned fees of an account, amounts in whole units as text."""
    info = members(asking.call("cf_account_info", account))
    earned = members(info.get("earned_fees") or {})
    fees = {
        f"{asset.chain}/{asset.symbol}": units(amount, asset.decimals)
        for asset in ASSETS.values()
        if (amount := number(members(earned.get(asset.chain) or {}).get(asset.symbol, 0)))
    }
    flip = units(number(info.get("flip_balance")), _FLIP.decimals)
    return {"role": text(info.get("role")), "flip": flip, "earnedFees": fees}


def read_channels(asking: Asking, account: str) -> Report:
    """Return the number of an account's open deposit channels, by source asset."""
    channels = members(asking.call("cf_get_open_deposit_channels", account)).get("chain_accounts")
    if not isinstance(channels, list):
        raise Malformed("the node's answer is malformed: a list of channels is expected")
    by_asset = Counter(_source(channel) for channel in channels)
    return {"openChannels": len(channels), "openChannelsByAsset": dict(sorted(by_asset.items()))}


def _source(channel: Any) -> str:
    """Return the asset of a pair of address and asset, as `Bitcoin/BTC`."""
    if not isinstance(channel, list) or len(channel) != 2:
        raise Malformed("the node's answer is malformed: an address and its asset are expected")
    asset_members = members(channel[1])
    chain, symbol = text(asset_members.get("chain")), text(asset_members.get("asset"))
    try:
        asset = asset_by_symbol(chain, symbol)
    except KeyError:
        return "unknown"
    return f"{asset.chain}/{asset.symbol}"
