"""How does a transaction reach its chain, and what if it does not?

‹Chain›Broadcaster (pallet_cf_broadcast). A call is signed by the aggregate key, given to one authority to
send, and is over when the chain has it or nobody could send it. What is signed stays at hand until then, so
that it can be signed again, or be sent by somebody else.

The development chain builds and signs transactions for the EVM chains. On the others it counts broadcasts and
their outcomes, without transactions.
"""

from __future__ import annotations

from typing import Any

from cfnode.core.assets import ASSETS, gas_asset
from cfnode.core.hashing import blake2_256, keccak_256
from cfnode.runtime.dev.chains import CHAIN_INSTANCES
from cfnode.runtime.dev.frame import Cost, ErrorSet, EventSet, Map, Origin, Value, call, event
from cfnode.runtime.dev.pallets.chain_pallet import ChainPallet
from cfnode.runtime.dev.pallets.chain_tracking import CHAIN_TRACKING, ChainTracking
from cfnode.runtime.dev.pallets.environment import Environment
from cfnode.runtime.dev.pallets.ingress_egress.fees import ccm_gas_limit
from cfnode.runtime.dev.pallets.threshold_signer import EvmThresholdSigner
from cfnode.runtime.dev.pallets.validator import Validator
from cfnode.runtime.dev.types.witnessed import TRON_FEES

from .evm_calls import calldata, contract_call, message_hash, signature_of, signed

__all__ = ["BROADCASTERS", "Broadcaster", "EvmBroadcaster"]

ENGINE = keccak_256(b"cfnode development chain: engine")[12:]
"""The account (20 bytes) that sends all transactions on the EVM chains."""


class Broadcaster(ChainPallet):
    """Transactions on their way to one chain."""

    crate = "pallet_cf_broadcast"

    BroadcastIdCounter = Value("u32")
    PendingBroadcasts = Value("BTreeSet<u32>")
    AbortedBroadcasts = Value("BTreeSet<u32>")
    BroadcastTimeout = Value("Height", default=100)

    class Event(EventSet):
        BroadcastAborted = event(3, broadcast_id="u32")
        BroadcastSuccess = event(
            4,
            broadcast_id="u32",
            transaction_out_id="TransactionOutId",
            transaction_ref="TransactionRef",
        )

    class Error(ErrorSet):
        InvalidPayload = "The provided payload is invalid."
        InvalidBroadcastId = "The provided broadcast id is invalid."
        ThresholdSignatureUnavailable = "A threshold signature was expected but not available."
        BroadcastStillPending = "Pending broadcasts cannot be re-signed."
        ApiCallUnavailable = "The broadcast's api call is no longer available."

    def genesis(self, config: Any) -> None:
        self.BroadcastTimeout.put(self.chain.broadcast_timeout)

    @property
    def tracking(self) -> ChainTracking:
        """The tracking pallet of the same chain."""
        return self.other(CHAIN_TRACKING[self.chain.name])

    def start(self, api_call: Any) -> int:
        """Send something to the chain: the broadcast's id. `api_call` is None where none is built."""
        broadcast_id = self._next_id()
        self.PendingBroadcasts.mutate(lambda pending: [*pending, broadcast_id])
        return broadcast_id

    def on_their_way(self) -> list[int]:
        """The broadcasts that somebody has been asked to send, and that are not over."""
        aborted = set(self.AbortedBroadcasts.get())
        return [each for each in self.PendingBroadcasts.get() if each not in aborted]

    def succeed(self, broadcast_id: int) -> None:
        """The chain has the transaction."""
        out, reference = self.identify(broadcast_id)
        self._over(broadcast_id)
        self.deposit(
            self.Event.BroadcastSuccess,
            broadcast_id=broadcast_id,
            transaction_out_id=out,
            transaction_ref=reference,
        )

    def abort(self, broadcast_id: int) -> None:
        """Nobody could send it. What is known of it is kept."""
        self.PendingBroadcasts.mutate(lambda ids: [each for each in ids if each != broadcast_id])
        self.AbortedBroadcasts.mutate(lambda ids: sorted({*ids, broadcast_id}))
        self.deposit(self.Event.BroadcastAborted, broadcast_id=broadcast_id)

    def _over(self, broadcast_id: int) -> None:
        for stored in (self.PendingBroadcasts, self.AbortedBroadcasts):
            stored.put([each for each in stored.get() if each != broadcast_id])

    def _next_id(self) -> int:
        broadcast_id: int = self.BroadcastIdCounter.mutate(lambda last: last + 1)
        return broadcast_id

    def identify(self, broadcast_id: int) -> tuple[Any, Any]:
        """By what the chain names a transaction, and where it is; made up where none is built."""
        seed = blake2_256(self.name.encode() + broadcast_id.to_bytes(4, "little"))
        if self.chain.name == "Bitcoin":
            return seed, seed
        signature = seed + blake2_256(seed)
        if self.chain.name == "Solana":
            return signature, signature
        return signature, {"block_number": self.tracking.height(), "extrinsic_index": 1}


class EvmBroadcaster(Broadcaster):
    """Transactions on their way to an EVM chain."""

    AwaitingBroadcast = Map("Twox64Concat", "u32", "BroadcastData", optional=True)
    TransactionOutIdToBroadcastId = Map("Twox64Concat", "TransactionOutId", "(u32, Height)", optional=True)
    BroadcastIdToTransactionOutIds = Map("Twox64Concat", "u32", "Vec<TransactionOutId>")
    Timeouts = Value("Vec<(Height, u32, AccountId32)>")
    PendingApiCalls = Map("Twox64Concat", "u32", "Api", optional=True)
    TransactionMetadata = Map("Twox64Concat", "u32", "TransactionMetadata", optional=True)

    class Event(Broadcaster.Event):
        TransactionBroadcastRequest = event(
            0,
            broadcast_id="u32",
            nominee="AccountId32",
            transaction_payload="Transaction",
            transaction_out_id="TransactionOutId",
        )
        TransactionFeeDeficitRecorded = event(6, beneficiary="Account", amount="Amount")
        CallResigned = event(8, broadcast_id="u32", transaction_payload="Transaction")

    @call(
        1,
        Cost(100_000_000, reads=8, writes=8),
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
        api_call: Any,
        broadcast_id: int,
        initiated_at: int,
        should_broadcast: bool,
    ) -> None:
        """A call has been signed: keep it, and send it if it is to be sent."""
        origin.ensure_threshold_signed()
        found = self.other(EvmThresholdSigner).take_signature(threshold_request_id)
        if found is None:
            self.fail(self.Error.ThresholdSignatureUnavailable)
        ready = signed(api_call, *found)
        self.PendingApiCalls.put(broadcast_id, ready)
        if should_broadcast:
            self._send(broadcast_id, ready, threshold_signature_payload, initiated_at)
        else:
            payload = self.transaction(ready)
            self.deposit(self.Event.CallResigned, broadcast_id=broadcast_id, transaction_payload=payload)

    def start(self, api_call: Any) -> int:
        broadcast_id = super().start(api_call)
        self.sign(broadcast_id, api_call, should_broadcast=True)
        return broadcast_id

    def only_sign(self, api_call: Any) -> int:
        """Have a call signed that somebody else will send: the broadcast's id."""
        broadcast_id = self._next_id()
        self.sign(broadcast_id, api_call, should_broadcast=False)
        return broadcast_id

    def sign(self, broadcast_id: int, api_call: Any, *, should_broadcast: bool) -> int:
        """Have a call signed, by the key of now: the signature request's id."""
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

    def on_their_way(self) -> list[int]:
        return [each for each in super().on_their_way() if self.AwaitingBroadcast.contains(each)]

    def succeed(self, broadcast_id: int) -> None:
        if self.TransactionMetadata.contains(broadcast_id):
            amount = self._spent()
            self.deposit(self.Event.TransactionFeeDeficitRecorded, beneficiary=ENGINE, amount=amount)
        super().succeed(broadcast_id)

    def forget(self, broadcast_id: int) -> None:
        """Remove everything that is known of a broadcast."""
        self._over(broadcast_id)

    def bound_call(self, kind: str, arguments: Any) -> Any:
        """An unsigned `‹Chain›Api` call of the vault, with the next nonce."""
        environment, chain = self.other(Environment), self.chain.name
        protection = {
            "nonce": environment.next_signature_nonce(chain),
            "chain_id": environment.chain_id(chain),
            "key_manager_address": environment.key_manager(chain),
            "contract_address": environment.vault_address(chain),
        }
        builder = {"signer_and_sig_data": None, "replay_protection": protection, "call": arguments}
        return kind, builder

    def transaction(self, api_call: Any) -> dict[str, Any]:
        """The transaction of a signed call, without fees."""
        bound = api_call[1]["replay_protection"]
        common = {"contract": bound["contract_address"], "value": 0, "data": calldata(api_call)}
        limit = self._gas_limit(api_call)
        if self.chain.name == "Tron":
            selector = contract_call(api_call).signature.encode()
            return common | {"fee_limit": limit, "function_selector": selector}
        fees = {"max_priority_fee_per_gas": None, "max_fee_per_gas": None, "gas_limit": limit}
        return common | fees | {"chain_id": bound["chain_id"]}

    def _send(self, broadcast_id: int, api_call: Any, payload: bytes, initiated_at: int) -> None:
        out = self.out_id(api_call)
        self.TransactionOutIdToBroadcastId.put(out, (broadcast_id, initiated_at))
        self.BroadcastIdToTransactionOutIds.mutate(broadcast_id, lambda known: [*known, out])
        transaction = self._with_fees(self.transaction(api_call))
        nominee = self.other(Validator).CurrentAuthorities.get()[0]
        data = {
            "broadcast_id": broadcast_id,
            "transaction_payload": transaction,
            "threshold_signature_payload": payload,
            "transaction_out_id": out,
            "nominee": nominee,
        }
        self.AwaitingBroadcast.put(broadcast_id, data)
        names = ("max_fee_per_gas", "max_priority_fee_per_gas", "contract", "gas_limit", "fee_limit")
        self.TransactionMetadata.put(
            broadcast_id, {name: transaction[name] for name in names if name in transaction}
        )
        timeout = (self.tracking.height() + self.BroadcastTimeout.get(), broadcast_id, nominee)
        self.Timeouts.mutate(lambda waiting: [*waiting, timeout])
        self.deposit(
            self.Event.TransactionBroadcastRequest,
            broadcast_id=broadcast_id,
            nominee=nominee,
            transaction_payload=transaction,
            transaction_out_id=out,
        )

    @staticmethod
    def out_id(api_call: Any) -> dict[str, bytes]:
        """By what the chain's event names a signed call."""
        made = signature_of(api_call)
        return {"s": made.s, "k_times_g_address": made.k_times_g_address}

    def abort(self, broadcast_id: int) -> None:
        self.Timeouts.mutate(lambda waiting: [each for each in waiting if each[1] != broadcast_id])
        super().abort(broadcast_id)

    def _over(self, broadcast_id: int) -> None:
        super()._over(broadcast_id)
        for out in self.BroadcastIdToTransactionOutIds.take(broadcast_id):
            self.TransactionOutIdToBroadcastId.remove(out)
        for stored in (self.AwaitingBroadcast, self.PendingApiCalls, self.TransactionMetadata):
            stored.remove(broadcast_id)
        self.Timeouts.mutate(lambda waiting: [each for each in waiting if each[1] != broadcast_id])

    def identify(self, broadcast_id: int) -> tuple[Any, Any]:
        data = self.AwaitingBroadcast.get(broadcast_id)
        return data["transaction_out_id"], keccak_256(data["transaction_payload"]["data"])

    def _gas_limit(self, api_call: Any) -> int | None:
        kind, builder = api_call
        if kind != "ExecutexSwapAndCall":
            return None
        arguments = builder["call"]
        native = arguments["transfer_param"]["asset"] == b"\xee" * 20
        tracked, length = self.tracking.tracked_data(), len(arguments["message"])
        return ccm_gas_limit(self.chain.name, tracked, native, arguments["gas_budget"], length)

    def _with_fees(self, transaction: dict[str, Any]) -> dict[str, Any]:
        tracked = self.tracking.tracked_data()
        if self.chain.name == "Ethereum":
            tip = tracked["priority_fee"]
            fees = {"max_priority_fee_per_gas": tip, "max_fee_per_gas": 2 * tracked["base_fee"] + tip}
        elif self.chain.name == "Arbitrum":
            fees = {"max_priority_fee_per_gas": 0, "max_fee_per_gas": tracked["base_fee"] * 3 // 2}
        else:
            fees = {}
        return transaction | fees

    def confirmation(self, broadcast_id: int) -> dict[str, Any]:
        """`TransactionConfirmation` of a transaction that is on its chain, and not yet final there."""
        out, reference = self.identify(broadcast_id)
        return {
            "tx_out_id": out,
            "signer_id": ENGINE,
            "tx_fee": self._fee(),
            "tx_metadata": self.TransactionMetadata.get(broadcast_id),
            "transaction_ref": reference,
        }

    def _fee(self) -> dict[str, Any]:
        """What a plain transaction costs its sender: 200,000 gas at the price of now; on Tron 20 TRX."""
        if self.chain.name == "Tron":
            return dict.fromkeys(TRON_FEES) | {"fee": 20 * 10 ** ASSETS[gas_asset("Tron").name].decimals}
        tracked = self.tracking.tracked_data()
        price = int(tracked["base_fee"] + tracked.get("priority_fee", 0))
        return {"effective_gas_price": price, "gas_used": 200_000}

    def _spent(self) -> int:
        """The same as an amount."""
        fee = self._fee()
        amount: int = fee["fee"] if "fee" in fee else fee["effective_gas_price"] * fee["gas_used"]
        return amount


def _made(name: str) -> type[Broadcaster]:
    chain = CHAIN_INSTANCES[name]
    kind: type[Broadcaster] = EvmBroadcaster if chain.is_evm else Broadcaster
    members = {
        "index": chain.broadcaster_index,
        "chain": chain,
        "names": chain.names,
        "__doc__": kind.__doc__,
    }
    return type(f"{name}Broadcaster", (kind,), members)


BROADCASTERS: dict[str, type[Broadcaster]] = {name: _made(name) for name in CHAIN_INSTANCES}
"""By chain, in the order of their hooks."""
