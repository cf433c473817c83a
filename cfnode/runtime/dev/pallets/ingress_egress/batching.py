"""What goes out of a chain's vault at the end of a block?

Everything that waits: fetches of deposits and transfers in one batch (on Solana a transaction each), messages
one by one. An EVM deposit contract that does not exist yet is deployed by its first fetch, and other fetches
from it wait until that has happened.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cfnode.core.assets import ASSETS, CHAINS
from cfnode.runtime.dev.pallets.broadcast.pallet import BROADCASTERS, EvmBroadcaster
from cfnode.runtime.dev.pallets.environment import Environment

if TYPE_CHECKING:
    from .pallet import IngressEgress

__all__ = ["evm_broadcaster", "send_batches", "send_messages", "transfer_params"]

MAX_EVM_TRANSFERS = 50
MAX_EVM_FETCHES = 20
SOLANA_FETCHES_AT_ONCE = 5


def send_batches(pallet: IngressEgress) -> None:
    """Send what has been queued, as far as it can be sent now."""
    queue = pallet.ScheduledEgressFetchOrTransfer.get()
    if not queue:
        return
    fetches, transfers, waiting = _taken(pallet, queue)
    pallet.ScheduledEgressFetchOrTransfer.put(waiting)
    _SEND[pallet.chain.name](pallet, fetches, transfers)


def send_messages(pallet: IngressEgress) -> None:
    """Send each transfer that carries a message as a transaction of its own."""
    for message in pallet.ScheduledEgressCcm.take():
        broadcast_id = pallet.other(BROADCASTERS[pallet.chain.name]).start(_message_call(pallet, message))
        pallet.BroadcastActions.put(broadcast_id, "CcmBroadcast")
        pallet.deposit(
            pallet.Event.CcmBroadcastRequested, broadcast_id=broadcast_id, egress_id=message["egress_id"]
        )


def evm_broadcaster(pallet: IngressEgress) -> EvmBroadcaster:
    """The broadcaster of the pallet's EVM chain."""
    found = pallet.other(BROADCASTERS[pallet.chain.name])
    assert isinstance(found, EvmBroadcaster)
    return found


def transfer_params(pallet: IngressEgress, asset: str, to: bytes, amount: int) -> dict[str, Any]:
    """`EncodableTransferAssetParams` of a transfer on an EVM chain."""
    token = pallet.other(Environment).token_address(pallet.chain.name, asset)
    return {"asset": token, "to": to, "amount": amount}


def _taken(pallet: IngressEgress, queue: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Fetches and transfers to be sent now, and what waits."""
    fetches, transfers, waiting = list[Any](), list[Any](), list[Any]()
    evm = pallet.chain.is_evm
    for entry in queue:
        kind, what = entry
        mine, most = (fetches, MAX_EVM_FETCHES) if kind == "Fetch" else (transfers, MAX_EVM_TRANSFERS)
        stopped = pallet.DisabledEgressAssets.contains(what["asset"]) or (evm and len(mine) >= most)
        if stopped or (kind == "Fetch" and not _fetchable(pallet, what)):
            waiting.append(entry)
        else:
            mine.append(what)
    return fetches, transfers, waiting


def _fetchable(pallet: IngressEgress, fetch: dict[str, Any]) -> bool:
    """Whether a deposit can be fetched now; says how, and that an EVM contract is being deployed."""
    channel = pallet.DepositChannelLookup.get(fetch["deposit_address"])
    if channel is None or channel["deposit_channel"]["state"] == "Pending":
        return False
    if pallet.chain.is_evm:
        deposit_channel = channel["deposit_channel"]
        fetch["deposit_fetch_id"] = _evm_fetch_id(pallet, deposit_channel, fetch["asset"])
        if deposit_channel["state"] == "Undeployed":
            channel["deposit_channel"] = deposit_channel | {"state": "Pending"}
            pallet.DepositChannelLookup.put(fetch["deposit_address"], channel)
    return True


def _evm_fetch_id(pallet: IngressEgress, channel: dict[str, Any], asset: str) -> Any:
    if channel["state"] == "Undeployed":
        return "DeployAndFetch", channel["channel_id"]
    # A deployed contract passes the chain's own coin on by itself; on Tron it has to be asked.
    if ASSETS[asset].chain_index == 0 and pallet.chain.name != "Tron":
        return "NotRequired"
    return "Fetch", channel["address"]


def _announce(pallet: IngressEgress, broadcast_id: int, transfers: list[Any]) -> None:
    ids = [each["egress_id"] for each in transfers]
    pallet.deposit(pallet.Event.BatchBroadcastRequested, broadcast_id=broadcast_id, egress_ids=ids)


def _send_evm(pallet: IngressEgress, fetches: list[Any], transfers: list[Any]) -> None:
    deploys, calls, deployed = [], [], []
    for fetch in fetches:
        token = pallet.other(Environment).token_address(pallet.chain.name, fetch["asset"])
        how = fetch["deposit_fetch_id"]
        if how[0] == "DeployAndFetch":
            deploys.append({"channel_id": how[1], "asset": token})
            deployed.append(fetch["deposit_address"])
        elif how[0] == "Fetch":
            calls.append({"contract_address": how[1], "asset": token})
    if not (deploys or calls or transfers):
        return
    pay = [
        transfer_params(pallet, each["asset"], each["destination_address"], each["amount"])
        for each in transfers
    ]
    arguments = {"fetch_deploy_params": deploys, "fetch_params": calls, "transfer_params": pay}
    broadcaster = evm_broadcaster(pallet)
    broadcast_id = broadcaster.start(broadcaster.bound_call("AllBatch", arguments))
    if deployed:
        pallet.BroadcastActions.put(broadcast_id, ("FinaliseFetch", deployed))
    _announce(pallet, broadcast_id, transfers)


def _send_together(pallet: IngressEgress, fetches: list[Any], transfers: list[Any]) -> None:
    if fetches or transfers:
        _announce(pallet, _start(pallet), transfers)


def _send_bitcoin(pallet: IngressEgress, fetches: list[Any], transfers: list[Any]) -> None:
    """Deposits are spent from where they lie: without a transfer there is no transaction."""
    if transfers:
        _announce(pallet, _start(pallet), transfers)


def _send_solana(pallet: IngressEgress, fetches: list[Any], transfers: list[Any]) -> None:
    for _ in range(0, len(fetches), SOLANA_FETCHES_AT_ONCE):
        _announce(pallet, _start(pallet), [])
    for transfer in transfers:
        _announce(pallet, _start(pallet), [transfer])


def _start(pallet: IngressEgress) -> int:
    return pallet.other(BROADCASTERS[pallet.chain.name]).start(None)


def _message_call(pallet: IngressEgress, message: dict[str, Any]) -> Any:
    if not pallet.chain.is_evm:
        return None
    source = message["source_address"]
    arguments = {
        "transfer_param": transfer_params(
            pallet, message["asset"], message["destination_address"], message["amount"]
        ),
        "source_chain": CHAINS[message["source_chain"]].index,
        "source_address": source[1] if source else b"",
        "gas_budget": message["gas_budget"],
        "message": message["message"],
    }
    return evm_broadcaster(pallet).bound_call("ExecutexSwapAndCall", arguments)


_SEND: dict[str, Callable[[IngressEgress, list[Any], list[Any]], None]] = {
    "Ethereum": _send_evm,
    "Arbitrum": _send_evm,
    "Tron": _send_evm,
    "Bitcoin": _send_bitcoin,
    "Solana": _send_solana,
    "Assethub": _send_together,
}
