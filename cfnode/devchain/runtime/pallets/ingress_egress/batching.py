"""Batches and messages that leave a chain's vault at the end of a block.

Fetches of deposits and transfers go out in one batch (on Solana a transaction each), messages one by one. A
batch for which Bitcoin's vault has not enough outputs is reported, and tried again in each block. An EVM
deposit contract that does not exist yet is deployed by its first fetch, and other fetches from it wait until
that has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from cfnode.core.addresses import Script
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.pallets import bitcoin_vault
from cfnode.devchain.runtime.pallets.broadcast.pallet import BROADCASTERS, EvmBroadcaster
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage

from .storage import IngressEgressStorage

__all__ = [
    "BatchPayment",
    "evm_broadcaster",
    "fetch_id",
    "fetch_params",
    "finalise_fetches",
    "join_outputs",
    "message_call",
    "reject_call",
    "send_batches",
    "send_messages",
    "transfer_params",
    "with_message",
]

Account = bytes | Script
FetchId = values.EvmFetchId | int
Deploy = values.EncodableFetchDeployAssetParams
Fetch = values.EncodableFetchAssetParams
Fetches = list[tuple[values.FetchOrTransferFetch, FetchId]]
Transfers = list[values.FetchOrTransferTransfer]


@dataclass(frozen=True, slots=True)
class BatchPayment:
    """Payment of a batch: asset, amount and receiver."""

    asset: str
    amount: int
    destination: Account


def send_batches(pallet: IngressEgressStorage) -> None:
    """Send the queued fetches and transfers, as far as they can be sent now; all of them, or nothing."""
    queue = pallet.ScheduledEgressFetchOrTransfer.get()
    if not queue:
        return
    pallet.runtime.host.begin()
    try:
        fetches, transfers, remaining = _taken(pallet, queue)
        pallet.ScheduledEgressFetchOrTransfer.put(remaining)
        _SEND[pallet.chain.family.crypto](pallet, fetches, transfers)
    except _CannotBuild as failure:
        pallet.runtime.host.rollback()
        pallet.deposit(pallet.Event.FailedToBuildAllBatchCall, error=str(failure))
    except BaseException:
        pallet.runtime.host.rollback()
        raise
    else:
        pallet.runtime.host.commit()


class _CannotBuild(Exception):
    """A batch cannot be built now: the reason (`AllBatchError`)."""


def join_outputs(pallet: IngressEgressStorage) -> None:
    """Join outputs of the Bitcoin vault if there are too many; do nothing on other chains."""
    if pallet.chain.family.crypto != "BitcoinCrypto":
        return
    transaction = bitcoin_vault.consolidate(pallet)
    if transaction is not None:
        pallet.deposit(pallet.Event.UtxoConsolidation, broadcast_id=_start(pallet))
        bitcoin_vault.add_outputs(pallet, transaction)


def send_messages(pallet: IngressEgressStorage) -> None:
    """Send each transfer that carries a message as a transaction of its own."""
    messages = pallet.ScheduledEgressCcm.get()
    disabled = [entry for entry in messages if pallet.DisabledEgressAssets.contains(entry.asset)]
    if messages:
        pallet.ScheduledEgressCcm.put(disabled)
    for message in (entry for entry in messages if entry not in disabled):
        payment = BatchPayment(message.asset, message.amount, message.destination_address)
        call = message_call(pallet, payment, _ccm_of(message))
        broadcast_id = pallet.other(BROADCASTERS[pallet.chain.name]).start(call)
        pallet.BroadcastActions.put(broadcast_id, "CcmBroadcast")
        pallet.deposit(
            pallet.Event.CcmBroadcastRequested, broadcast_id=broadcast_id, egress_id=message.egress_id
        )


def evm_broadcaster(pallet: IngressEgressStorage) -> EvmBroadcaster:
    """Return the broadcaster of the pallet's EVM chain."""
    broadcaster = pallet.other(BROADCASTERS[pallet.chain.name])
    assert isinstance(broadcaster, EvmBroadcaster)
    return broadcaster


def transfer_params(
    pallet: IngressEgressStorage, asset: str, to: Account, amount: int
) -> values.EncodableTransferAssetParams:
    """Return a transfer on an EVM chain as a call has it."""
    assert isinstance(to, bytes)
    token = pallet.other(EnvironmentStorage).token_address(pallet.chain.name, asset)
    return values.EncodableTransferAssetParams(asset=token, to=to, amount=amount)


def _taken(
    pallet: IngressEgressStorage, queue: Sequence[values.FetchOrTransfer]
) -> tuple[Fetches, Transfers, Sequence[values.FetchOrTransfer]]:
    """Return the fetches and transfers to send now, and the entries that wait."""
    fetches, transfers, remaining = Fetches(), Transfers(), list[values.FetchOrTransfer]()
    for entry in queue:
        is_fetch = isinstance(entry, values.FetchOrTransferFetch)
        count, limit = (
            (len(fetches), pallet.chain.max_fetches)
            if is_fetch
            else (len(transfers), pallet.chain.max_transfers)
        )
        is_full = limit is not None and count >= limit
        if is_full or pallet.DisabledEgressAssets.contains(entry.asset):
            remaining.append(entry)
        elif isinstance(entry, values.FetchOrTransferTransfer):
            transfers.append(entry)
        elif (fetch := fetch_id(pallet, entry.deposit_address)) is not None:
            fetches.append((entry, fetch))
        else:
            remaining.append(entry)
    return fetches, transfers, remaining


def fetch_id(pallet: IngressEgressStorage, address: Account) -> FetchId | None:
    """Return the fetch id by which a channel's deposit is fetched now; None if it cannot be.

    It cannot if there is no such channel, or while its contract is being deployed. On an EVM chain a contract
    that is not deployed yet counts as being deployed from now on.
    """
    channel = pallet.DepositChannelLookup.get(address)
    if channel is None or channel.deposit_channel.state == "Pending":
        return None
    deposit_channel = channel.deposit_channel
    if not pallet.chain.is_evm:
        return deposit_channel.channel_id
    if deposit_channel.state == "Undeployed":
        pending = replace(channel, deposit_channel=replace(deposit_channel, state="Pending"))
        pallet.DepositChannelLookup.put(address, pending)
        return values.EvmFetchIdDeployAndFetch(deposit_channel.channel_id)
    # The asset that the channel was opened for decides, whatever has come.
    if ASSETS[deposit_channel.asset].chain_index == 0 and not pallet.chain.fetches_coin:
        return "NotRequired"
    assert isinstance(deposit_channel.address, bytes)
    return values.EvmFetchIdFetch(deposit_channel.address)


def fetch_params(
    pallet: IngressEgressStorage, fetches: Iterable[tuple[str, FetchId]]
) -> tuple[list[Deploy], list[Fetch]]:
    """Return the fetches of an EVM call: those that deploy a contract, and the others."""
    deploys, calls = list[Deploy](), list[Fetch]()
    for asset, fetch in fetches:
        token = pallet.other(EnvironmentStorage).token_address(pallet.chain.name, asset)
        if isinstance(fetch, values.EvmFetchIdDeployAndFetch):
            deploys.append(Deploy(channel_id=fetch.value, asset=token))
        elif isinstance(fetch, values.EvmFetchIdFetch):
            calls.append(Fetch(contract_address=fetch.value, asset=token))
    return deploys, calls


def finalise_fetches(
    pallet: IngressEgressStorage, broadcast_id: int, addresses: Iterable[Account | None]
) -> None:
    """Note the contracts that a broadcast deploys, for when it has succeeded."""
    deposit_addresses = [address for address in addresses if address is not None]
    deployed = [address for address in deposit_addresses if _is_on_its_way(pallet, address)]
    if deployed:
        pallet.BroadcastActions.put(broadcast_id, values.BroadcastActionFinaliseFetch(deployed))


def _is_on_its_way(pallet: IngressEgressStorage, address: Account) -> bool:
    channel = pallet.DepositChannelLookup.get(address)
    return channel is not None and channel.deposit_channel.state in ("Undeployed", "Pending")


def _report_batch(pallet: IngressEgressStorage, broadcast_id: int, transfers: Transfers) -> None:
    ids = [transfer.egress_id for transfer in transfers]
    pallet.deposit(pallet.Event.BatchBroadcastRequested, broadcast_id=broadcast_id, egress_ids=ids)


def _send_evm(pallet: IngressEgressStorage, fetches: Fetches, transfers: Transfers) -> None:
    payments = [
        BatchPayment(transfer.asset, transfer.amount, transfer.destination_address) for transfer in transfers
    ]
    arguments = _batch(pallet, [(entry.asset, fetch) for entry, fetch in fetches], payments)
    if not (arguments.fetch_deploy_params or arguments.fetch_params or arguments.transfer_params):
        return
    broadcaster = evm_broadcaster(pallet)
    broadcast_id = broadcaster.start(broadcaster.bound_call(values.EvmApiAllBatch, arguments))
    finalise_fetches(pallet, broadcast_id, [entry.deposit_address for entry, _ in fetches])
    _report_batch(pallet, broadcast_id, transfers)


def _batch(
    pallet: IngressEgressStorage, fetches: Iterable[tuple[str, FetchId]], payments: Iterable[BatchPayment]
) -> values.AllBatch:
    pay = [
        transfer_params(pallet, payment.asset, payment.destination, payment.amount) for payment in payments
    ]
    deploys, calls = fetch_params(pallet, fetches)
    return values.AllBatch(fetch_deploy_params=deploys, fetch_params=calls, transfer_params=pay)


def reject_call(
    pallet: IngressEgressStorage, fetches: Iterable[tuple[str, FetchId]], payments: Iterable[BatchPayment]
) -> values.EvmApi | None:
    """Return the call that fetches a deposit and sends it back at once; None where it is not built."""
    if not pallet.chain.is_evm:
        return None
    return evm_broadcaster(pallet).bound_call(values.EvmApiRejectCall, _batch(pallet, fetches, payments))


def _send_together(pallet: IngressEgressStorage, fetches: Fetches, transfers: Transfers) -> None:
    if fetches or transfers:
        _report_batch(pallet, _start(pallet), transfers)


def _send_bitcoin(pallet: IngressEgressStorage, fetches: Fetches, transfers: Transfers) -> None:
    """Send transfers on Bitcoin; deposits are not fetched, but spent from where they lie.

    Without a transfer there is no transaction. A transfer below Bitcoin's own dust limit is left out.
    """
    outputs = [
        (transfer.destination_address, transfer.amount)
        for transfer in transfers
        if isinstance(transfer.destination_address, tuple) and transfer.amount >= bitcoin_vault.DUST
    ]
    if not outputs:
        return
    transaction = bitcoin_vault.spend(pallet, outputs)
    if transaction is None:
        raise _CannotBuild("UtxoSelectionFailed")
    bitcoin_vault.add_outputs(pallet, transaction)
    _report_batch(pallet, _start(pallet), transfers)


def _send_solana(pallet: IngressEgressStorage, fetches: Fetches, transfers: Transfers) -> None:
    if fetches:  # there are no more of them than one transaction holds
        _report_batch(pallet, _start(pallet), [])
    for transfer in transfers:
        _report_batch(pallet, _start(pallet), [transfer])


def _start(pallet: IngressEgressStorage) -> int:
    return pallet.other(BROADCASTERS[pallet.chain.name]).start(None)


def with_message(
    egress_id: tuple[str, int], payment: BatchPayment, ccm: values.CheckedCcmDeposit
) -> values.CrossChainMessage:
    """Return a transfer with its message."""
    return values.CrossChainMessage(
        egress_id=egress_id,
        asset=payment.asset,
        amount=payment.amount,
        destination_address=payment.destination,
        message=ccm.channel_metadata.message,
        source_chain=ccm.source_chain,
        source_address=ccm.source_address,
        ccm_additional_data=ccm.channel_metadata.ccm_additional_data,
        gas_budget=ccm.channel_metadata.gas_budget,
    )


def _ccm_of(message: values.CrossChainMessage) -> values.CheckedCcmDeposit:
    return values.CcmDepositMetadata(
        channel_metadata=values.CcmChannelMetadata(
            message=message.message,
            gas_budget=message.gas_budget,
            ccm_additional_data=message.ccm_additional_data,
        ),
        source_chain=message.source_chain,
        source_address=message.source_address,
    )


def message_call(
    pallet: IngressEgressStorage, payment: BatchPayment, ccm: values.CheckedCcmDeposit
) -> values.EvmApi | None:
    """Return the call that pays a receiver and calls it with a message; None where it is not built."""
    if not pallet.chain.is_evm:
        return None
    source = ccm.source_address
    sender = source[1] if source else b""
    assert isinstance(sender, bytes)
    arguments = values.ExecutexSwapAndCall(
        transfer_param=transfer_params(pallet, payment.asset, payment.destination, payment.amount),
        source_chain=CHAINS[ccm.source_chain].index,
        source_address=sender,
        gas_budget=ccm.channel_metadata.gas_budget,
        message=ccm.channel_metadata.message,
    )
    return evm_broadcaster(pallet).bound_call(values.EvmApiExecutexSwapAndCall, arguments)


_SEND: dict[str, Callable[[IngressEgressStorage, Fetches, Transfers], None]] = {
    "EvmCrypto": _send_evm,
    "BitcoinCrypto": _send_bitcoin,
    "SolanaCrypto": _send_solana,
    "PolkadotCrypto": _send_together,
}
