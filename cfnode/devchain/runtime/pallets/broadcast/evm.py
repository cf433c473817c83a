"""Broadcasts to an EVM chain: signing, sending, gas and fees of calls.

A call is bound to a nonce, signed by the aggregate key, and given to one authority after the other until its
signature is seen on the chain. The signed call is kept until then, so that it can be signed again, or be sent
by another account.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from cfnode.core.assets import CHAINS, gas_asset
from cfnode.core.hashing import keccak_256
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains import FeeData
from cfnode.devchain.runtime.chains.evm import EvmCosts, Transaction
from cfnode.devchain.runtime.frame import Map, OptionalMap, Origin, call, event
from cfnode.devchain.runtime.pallets.asset_balances import AssetBalances
from cfnode.devchain.runtime.pallets.environment_storage import EnvironmentStorage
from cfnode.devchain.runtime.pallets.evm_signer import EvmThresholdSigner

from .broadcaster import Broadcaster
from .evm_calls import calldata, contract_call, message_hash, rebuilt, signature_of, signed

__all__ = ["EvmBroadcaster"]

C = TypeVar("C")
ENGINE = keccak_256(b"cfnode development chain: engine")[12:]
"""The account (20 bytes) that sends all transactions on the EVM chains."""


class EvmBroadcaster(Broadcaster):
    """Transactions on their way to an EVM chain."""

    AwaitingBroadcast = OptionalMap[int, values.BroadcastData]("Twox64Concat", "u32", "BroadcastData")
    TransactionOutIdToBroadcastId = OptionalMap[values.SchnorrVerificationComponents, tuple[int, int]](
        "Twox64Concat", "TransactionOutId", "(u32, Height)"
    )
    BroadcastIdToTransactionOutIds = Map[int, Sequence[values.SchnorrVerificationComponents]](
        "Twox64Concat", "u32", "Vec<TransactionOutId>"
    )
    PendingApiCalls = OptionalMap[int, values.EvmApi]("Twox64Concat", "u32", "Api")
    TransactionMetadata = OptionalMap[int, values.EvmTransactionMetadata | values.TronTransactionMetadata](
        "Twox64Concat", "u32", "TransactionMetadata"
    )

    class Event(Broadcaster.Event):
        """Events of broadcasts on EVM chains."""

        TransactionBroadcastRequest = event(
            0,
            broadcast_id="u32",
            nominee="AccountId32",
            transaction_payload="Transaction",
            transaction_out_id="TransactionOutId",
        )
        ThresholdSignatureInvalid = event(5, broadcast_id="u32")
        TransactionFeeDeficitRecorded = event(6, beneficiary="Account", amount="Amount")
        CallResigned = event(8, broadcast_id="u32", transaction_payload="Transaction")

    @call(
        1,
        threshold_request_id="u32",
        threshold_signature_payload="H256",
        api_call="Api",
        broadcast_id="u32",
        initiated_at="Height",
        should_broadcast="bool",
    )
    def on_signature_ready(
        self,
        origin: Origin,
        threshold_request_id: int,
        threshold_signature_payload: bytes,
        api_call: values.EvmApi,
        broadcast_id: int,
        initiated_at: int,
        should_broadcast: bool,
    ) -> None:
        """Keep a call that was signed, and send it if it is to be sent."""
        origin.ensure_threshold_signed()
        signing = self.other(EvmThresholdSigner).take_signature(threshold_request_id)
        if signing is None:
            self.fail(self.Error.ThresholdSignatureUnavailable)
        signed_call = signed(api_call, *signing)
        self.PendingApiCalls.put(broadcast_id, signed_call)
        if should_broadcast:
            self._send(broadcast_id, signed_call, threshold_signature_payload, initiated_at)
        else:
            payload = self.transaction(signed_call)
            self.deposit(self.Event.CallResigned, broadcast_id=broadcast_id, transaction_payload=payload)

    def start(self, api_call: values.EvmApi | None) -> int:
        """Request the signature of a call, then its broadcast; return the broadcast id."""
        assert api_call is not None
        broadcast_id = self._next_id()
        self._add_pending(broadcast_id)
        self.sign(broadcast_id, api_call, should_broadcast=True)
        return broadcast_id

    def _sign_rotation(self, broadcast_id: int, api_call: values.EvmApi | None) -> list[int]:
        assert api_call is not None
        return [self.sign(broadcast_id, api_call, should_broadcast=True)]

    def retry(self, broadcast_id: int) -> None:
        """Attempt a broadcast again; sign it again if the key has changed since."""
        api_call = self.PendingApiCalls.get(broadcast_id)
        if api_call is None or not self.AwaitingBroadcast.contains(broadcast_id):
            return
        sig_data = api_call.value.signer_and_sig_data
        signer = sig_data and sig_data[0]
        if self.CurrentOnChainKey.get() in (None, signer):
            self.attempt(broadcast_id)
        else:
            self.deposit(self.Event.ThresholdSignatureInvalid, broadcast_id=broadcast_id)
            self.sign(broadcast_id, api_call, should_broadcast=True)

    def only_sign(self, api_call: values.EvmApi) -> int:
        """Have a call signed that the authorities do not send. Return the broadcast's id."""
        broadcast_id = self._next_id()
        self.sign(broadcast_id, api_call, should_broadcast=False)
        return broadcast_id

    def sign(self, broadcast_id: int, api_call: values.EvmApi, *, should_broadcast: bool) -> int:
        """Have a call signed by the current key. Return the id of the signature request."""
        payload, signer = message_hash(api_call), self.other(EvmThresholdSigner)
        request_id = signer.request_signature(payload)
        arguments = {
            "threshold_request_id": request_id,
            "threshold_signature_payload": payload,
            "api_call": api_call,
            "broadcast_id": broadcast_id,
            "initiated_at": self.tracking.height(),
            "should_broadcast": should_broadcast,
        }
        signer.on_signed(request_id, (self.name, ("on_signature_ready", arguments)))
        return request_id

    def re_sign(self, broadcast_id: int, *, request_broadcast: bool, new_nonce: bool) -> int:
        """Request a new signature of an aborted broadcast; return the id of the signature request."""
        aborted, pending = self.AbortedBroadcasts.get(), self.PendingBroadcasts.get()
        self.AbortedBroadcasts.put([aborted_id for aborted_id in aborted if aborted_id != broadcast_id])
        api_call = self.PendingApiCalls.get(broadcast_id)
        if api_call is None:
            self.fail(self.Error.ApiCallUnavailable)
        self.ensure(broadcast_id not in pending, self.Error.BroadcastStillPending)
        if request_broadcast:
            self._add_pending(broadcast_id)
        if new_nonce:
            protection = self._protection(api_call.value.call)
            api_call = rebuilt(api_call, protection, None)
        return self.sign(broadcast_id, api_call, should_broadcast=request_broadcast)

    def is_known(self, broadcast_id: int) -> bool:
        """Return whether a broadcast waits for its transaction."""
        return self.AwaitingBroadcast.contains(broadcast_id)

    def succeed(self, broadcast_id: int) -> None:
        """Record what the transaction cost as the chain's liability, and end the broadcast."""
        if self.TransactionMetadata.contains(broadcast_id):
            amount, chain = self._spent(), CHAINS[self.chain.name]
            owner = values.ExternalOwnerAccount((chain.address, ENGINE))
            self.other(AssetBalances).record_liability(gas_asset(chain.name).name, owner, amount)
            self.deposit(self.Event.TransactionFeeDeficitRecorded, beneficiary=ENGINE, amount=amount)
        super().succeed(broadcast_id)

    def forget(self, broadcast_id: int) -> None:
        """Remove all data of a broadcast."""
        for out_id in self.BroadcastIdToTransactionOutIds.take(broadcast_id):
            self.TransactionOutIdToBroadcastId.remove(out_id)
        for stored in (self.AwaitingBroadcast, self.PendingApiCalls, self.TransactionMetadata):
            stored.remove(broadcast_id)

    def bound_call(
        self, kind: Callable[[values.EvmTransactionBuilder[C]], values.EvmApi], arguments: C
    ) -> values.EvmApi:
        """Return an unsigned call with the next nonce."""
        return kind(self._bound(arguments))

    def _bound(self, arguments: C) -> values.EvmTransactionBuilder[C]:
        return values.EvmTransactionBuilder(
            signer_and_sig_data=None, replay_protection=self._protection(arguments), call=arguments
        )

    def _protection(self, arguments: object) -> values.EvmReplayProtection:
        """Return the replay protection of a call: chain, contract and the next nonce."""
        environment, chain = self.other(EnvironmentStorage), self.chain.name
        return values.EvmReplayProtection(
            nonce=environment.next_signature_nonce(chain),
            chain_id=environment.chain_id(chain),
            key_manager_address=environment.key_manager(chain),
            contract_address=self._contract(arguments),
        )

    def _contract(self, arguments: object) -> bytes:
        """Return the contract that has a function: the gateway, the key manager, or the vault."""
        environment, chain = self.other(EnvironmentStorage), self.chain.name
        if isinstance(arguments, values.RegisterRedemption):
            gateway: bytes = environment.EthereumStateChainGatewayAddress.get()
            return gateway
        if isinstance(arguments, values.SetAggKeyWithAggKey):
            return environment.key_manager(chain)
        return environment.vault_address(chain)

    def transaction(self, api_call: values.EvmApi) -> Transaction:
        """Return the transaction of a signed call, without fees."""
        function, limit = contract_call(api_call).signature, self._gas_limit(api_call)
        return self._costs.transaction(api_call.value.replay_protection, calldata(api_call), limit, function)

    def _send(self, broadcast_id: int, api_call: values.EvmApi, payload: bytes, initiated_at: int) -> None:
        out_id = self.out_id(api_call)
        self.TransactionOutIdToBroadcastId.put(out_id, (broadcast_id, initiated_at))
        self.BroadcastIdToTransactionOutIds.mutate(broadcast_id, lambda known: [*known, out_id])
        data = values.BroadcastData(
            broadcast_id=broadcast_id,
            transaction_payload=self.transaction(api_call),
            threshold_signature_payload=payload,
            transaction_out_id=out_id,
            nominee=None,
        )
        self.AwaitingBroadcast.put(broadcast_id, data)
        self.begin(broadcast_id)

    def ask(self, broadcast_id: int, nominee: bytes) -> None:
        """Ask an authority to send a transaction, at the current fees."""
        data = self.AwaitingBroadcast.known(broadcast_id)
        transaction = self._with_fees(data.transaction_payload)
        self.AwaitingBroadcast.put(
            broadcast_id, replace(data, transaction_payload=transaction, nominee=nominee)
        )
        self.TransactionMetadata.put(broadcast_id, _metadata(transaction))
        self.deposit(
            self.Event.TransactionBroadcastRequest,
            broadcast_id=broadcast_id,
            nominee=nominee,
            transaction_payload=transaction,
            transaction_out_id=data.transaction_out_id,
        )

    @staticmethod
    def out_id(api_call: values.EvmApi) -> values.SchnorrVerificationComponents:
        """Return the id by which the chain's event names a signed call."""
        signature = signature_of(api_call)
        return values.SchnorrVerificationComponents(
            s=signature.s, k_times_g_address=signature.k_times_g_address
        )

    def identify(self, broadcast_id: int) -> tuple[values.SchnorrVerificationComponents, bytes]:
        """Return the signature by which a broadcast is witnessed, and its transaction's hash."""
        data = self.AwaitingBroadcast.known(broadcast_id)
        return data.transaction_out_id, keccak_256(data.transaction_payload.data)

    def _gas_limit(self, api_call: values.EvmApi) -> int | None:
        call = api_call.value.call
        if not isinstance(call, values.ExecutexSwapAndCall):
            return None
        native = call.transfer_param.asset == b"\xee" * 20
        return self._costs.limit(self._basis, native, call.gas_budget, len(call.message))

    def _with_fees(self, transaction: Transaction) -> Transaction:
        bid = self._costs.bid(self._basis)
        if bid is None or isinstance(transaction, values.TronTransaction):
            return transaction
        return replace(transaction, max_priority_fee_per_gas=bid[0], max_fee_per_gas=bid[1])

    def confirmation(self, broadcast_id: int) -> values.TransactionConfirmation:
        """Return the `TransactionConfirmation` of a transaction that is on its chain, but not yet final."""
        out_id, reference = self.identify(broadcast_id)
        return values.TransactionConfirmation(
            tx_out_id=out_id,
            signer_id=ENGINE,
            tx_fee=self._costs.plain_fee(self._basis),
            tx_metadata=self.TransactionMetadata.known(broadcast_id),
            transaction_ref=reference,
        )

    @property
    def _costs(self) -> EvmCosts:
        costs = self.chain.costs
        assert isinstance(costs, EvmCosts)
        return costs

    @property
    def _basis(self) -> FeeData:
        return self._costs.basis(self.tracking.tracked_data(), self.runtime.release.rules)

    def _spent(self) -> int:
        """Return the fee of a plain transaction as an amount of the chain's coin."""
        fee = self._costs.plain_fee(self._basis)
        if isinstance(fee, values.TronTransactionFee):
            return fee.fee
        return fee.effective_gas_price * fee.gas_used


def _metadata(transaction: Transaction) -> values.EvmTransactionMetadata | values.TronTransactionMetadata:
    """Return what a transaction has to meet before its sender is paid back."""
    if isinstance(transaction, values.TronTransaction):
        return values.TronTransactionMetadata(contract=transaction.contract, fee_limit=transaction.fee_limit)
    return values.EvmTransactionMetadata(
        max_fee_per_gas=transaction.max_fee_per_gas,
        max_priority_fee_per_gas=transaction.max_priority_fee_per_gas,
        contract=transaction.contract,
        gas_limit=transaction.gas_limit,
    )
