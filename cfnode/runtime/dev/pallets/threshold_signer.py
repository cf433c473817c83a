"""Which aggregate key signs for Chainflip on the foreign chains, and how is it asked to?

EvmThresholdSigner (24), BitcoinThresholdSigner (26), SolanaThresholdSigner (42), of
pallet_cf_threshold_signature. Keys do not change on the development chain: each epoch is given the one of
`runtime.dev.keys`. On the main net the authorities sign together and one of them submits the result; here the
author of the next block signs, with the key that everybody knows, and submits the same extrinsic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from cfnode.core import schnorr
from cfnode.core.hashing import keccak_256
from cfnode.core.schnorr import Signature
from cfnode.runtime.dev.frame import (
    THRESHOLD_SIGNATURE,
    DispatchError,
    ErrorSet,
    EventSet,
    Map,
    Origin,
    Pallet,
    Value,
    call,
    event,
    invalid,
)
from cfnode.runtime.dev.keys import evm_secret, signer_key

from .system import System
from .validator import Validator

__all__ = ["BitcoinThresholdSigner", "EvmThresholdSigner", "SolanaThresholdSigner", "ThresholdSigner"]

GENESIS_EPOCH = 1
SIGNATURES_PER_BLOCK = 64
LONGEVITY = 64
SILENT = b"devmute0"
"""Inherent data with which an author says that it does not sign now."""


class ThresholdSigner(Pallet):
    """The keys of one signature scheme, by epoch."""

    crate = "pallet_cf_threshold_signature"

    CurrentKeyEpoch = Value("u32", optional=True)
    Keys = Map("Twox64Concat", "u32", "AggKey", optional=True)

    def genesis(self, config: Any) -> None:
        self.on_new_epoch(GENESIS_EPOCH)

    def on_new_epoch(self, epoch: int) -> None:
        """The epoch's authorities hold the key."""
        self.Keys.put(epoch, signer_key(self.name))
        self.CurrentKeyEpoch.put(epoch)

    def active_key(self) -> Any:
        """The key of the current key epoch, or None."""
        epoch = self.CurrentKeyEpoch.get()
        return None if epoch is None else self.Keys.get(epoch)


class EvmThresholdSigner(ThresholdSigner):
    """Ethereum, Arbitrum and Tron: Schnorr over secp256k1."""

    index = 24
    names: ClassVar[Mapping[str, str]] = {"AggKey": "evm::AggKey"}

    ThresholdSignatureRequestIdCounter = Value("u32")
    CeremonyIdCounter = Value("u64")
    PendingCeremonies = Map("Twox64Concat", "u64", "CeremonyContextEvmCrypto", optional=True)
    CeremonyRetryQueues = Map("Twox64Concat", "u32", "Vec<u64>")
    ThresholdSignatureResponseTimeout = Value("u32", default=10)
    RequestCallback = Map("Twox64Concat", "u32", "RuntimeCall", optional=True)
    SignerAndSignature = Map("Twox64Concat", "u32", "SignerAndSignatureResultEvmCrypto", optional=True)

    class Event(EventSet):
        ThresholdSignatureRequest = event(
            0,
            request_id="u32",
            ceremony_id="u64",
            epoch="u32",
            key="AggKey",
            signatories="BTreeSet<AccountId32>",
            payload="H256",
        )
        ThresholdSignatureSuccess = event(2, request_id="u32", ceremony_id="u64")
        ThresholdDispatchComplete = event(
            3, request_id="u32", ceremony_id="u64", result="Result<(), DispatchError>"
        )
        RetryRequested = event(4, request_id="u32", ceremony_id="u64")

    class Error(ErrorSet):
        InvalidThresholdSignatureCeremonyId = "The provided ceremony id is invalid."
        InvalidKeygenCeremonyId = "An invalid keygen ceremony id"
        InvalidThresholdSignature = "The provided threshold signature is invalid."

    @call(0, ceremony_id="u64", signature="SchnorrVerificationComponents")
    def signature_success(self, origin: Origin, ceremony_id: int, signature: Any) -> None:
        """The authorities have signed. Unsigned: the signature itself is what counts."""
        origin.ensure_none()
        context = self.PendingCeremonies.take(ceremony_id)
        self.ensure(context is not None, self.Error.InvalidThresholdSignatureCeremonyId)
        self.ensure(self._is_signed(context, signature), self.Error.InvalidThresholdSignature)
        request_id = context["request_context"]["request_id"]
        ready = {"signer": context["key"], "signature_result": ("Ready", ("Ok", signature))}
        self.SignerAndSignature.put(request_id, ready)
        self.deposit(self.Event.ThresholdSignatureSuccess, request_id=request_id, ceremony_id=ceremony_id)
        result = self._call_back(request_id)
        self.deposit(
            self.Event.ThresholdDispatchComplete,
            request_id=request_id,
            ceremony_id=ceremony_id,
            result=result,
        )

    def request_signature(self, payload: bytes) -> int:
        """Have 32 bytes signed: the request's id. `on_signed` says what then."""
        request_id: int = self.ThresholdSignatureRequestIdCounter.mutate(lambda last: last + 1)
        epoch, key = self.CurrentKeyEpoch.get(), self.active_key()
        self.SignerAndSignature.put(request_id, {"signer": key, "signature_result": "Pending"})
        context = {"request_id": request_id, "attempt_count": 0, "payload": payload}
        self._begin_ceremony(context, epoch, key)
        return request_id

    def _begin_ceremony(self, context: dict[str, Any], epoch: int, key: Any) -> None:
        """Ask the authorities to sign; once more if they have not after a while."""
        ceremony_id = self.CeremonyIdCounter.mutate(lambda last: last + 1)
        signatories = self._signatories()
        self.PendingCeremonies.put(
            ceremony_id,
            {
                "request_context": context,
                "remaining_respondents": signatories,
                "blame_counts": [],
                "candidates": signatories,
                "epoch": epoch,
                "key": key,
                "threshold_ceremony_type": "Standard",
            },
        )
        retry_at = self.other(System).Number.get() + self.ThresholdSignatureResponseTimeout.get()
        self.CeremonyRetryQueues.mutate(retry_at, lambda queue: [*queue, ceremony_id])
        self.deposit(
            self.Event.ThresholdSignatureRequest,
            request_id=context["request_id"],
            ceremony_id=ceremony_id,
            epoch=epoch,
            key=key,
            signatories=signatories,
            payload=context["payload"],
        )

    def on_initialize(self, number: int) -> None:
        """What has not been signed in time is asked for once more."""
        for ceremony_id in self.CeremonyRetryQueues.take(number):
            ceremony = self.PendingCeremonies.take(ceremony_id)
            if ceremony is None:
                continue
            context = ceremony["request_context"]
            again = context | {"attempt_count": context["attempt_count"] + 1}
            self._begin_ceremony(again, ceremony["epoch"], ceremony["key"])
            request_id = context["request_id"]
            self.deposit(self.Event.RetryRequested, request_id=request_id, ceremony_id=ceremony_id)

    def on_signed(self, request_id: int, callback: Any) -> None:
        """Dispatch this call when the request's signature is there."""
        self.RequestCallback.put(request_id, callback)

    def take_signature(self, request_id: int) -> tuple[Any, Signature] | None:
        """Key and signature of a request that has been signed; it is forgotten."""
        found = self.SignerAndSignature.take(request_id)
        if found is None or found["signature_result"] in ("Pending", "Void"):
            return None
        return found["signer"], _signature(found["signature_result"][1][1])

    def create_inherents(self, data: Mapping[bytes, bytes]) -> Sequence[Any]:
        """The signatures of everything that waits for one, oldest first; none if the author keeps silent."""
        if SILENT in data:
            return []
        waiting = sorted(self.PendingCeremonies.items(), key=lambda each: each[0])
        return [
            ("signature_success", {"ceremony_id": ceremony_id, "signature": _signed(ceremony_id, context)})
            for ceremony_id, context in waiting[:SIGNATURES_PER_BLOCK]
        ]

    def validate_unsigned(self, source: str, call: Any) -> dict[str, Any] | None:
        _, arguments = call
        context = self.PendingCeremonies.get(arguments["ceremony_id"])
        if context is None:
            raise invalid("Stale")
        if not self._is_signed(context, arguments["signature"]):
            raise invalid("BadProof")
        return {
            "priority": 2**63,
            "requires": [],
            "provides": [self.codec("(str, u64)").encode((self.name, arguments["ceremony_id"]))],
            "longevity": LONGEVITY,
            "propagate": True,
        }

    def _call_back(self, request_id: int) -> Any:
        callback = self.RequestCallback.take(request_id)
        if callback is None:
            return "Ok", ()
        try:
            self.runtime.dispatch(callback, THRESHOLD_SIGNATURE)
        except DispatchError as error:
            return "Err", error.value
        return "Ok", ()

    def _signatories(self) -> list[bytes]:
        """As many of the authorities as have to sign: two thirds, rounded up."""
        authorities = self.other(Validator).CurrentAuthorities.get()
        return sorted(authorities[: -(-2 * len(authorities) // 3)])

    @staticmethod
    def _is_signed(context: Any, signature: Any) -> bool:
        key = context["key"]
        prefix = b"\3" if key["pub_key_y_parity"] == "Odd" else b"\2"
        payload: bytes = context["request_context"]["payload"]
        return schnorr.verify(prefix + key["pub_key_x"], payload, _signature(signature))


def _signature(value: Any) -> Signature:
    return Signature(value["s"], value["k_times_g_address"])


def _signed(ceremony_id: int, context: Any) -> dict[str, bytes]:
    """The signature of a ceremony. Its one-time key depends on secret, ceremony and payload, as it must."""
    payload = context["request_context"]["payload"]
    one_time = keccak_256(evm_secret() + ceremony_id.to_bytes(8, "little") + payload)
    made = schnorr.sign(evm_secret(), one_time, payload)
    return {"s": made.s, "k_times_g_address": made.k_times_g_address}


class BitcoinThresholdSigner(ThresholdSigner):
    """Bitcoin: taproot keys."""

    index = 26
    names: ClassVar[Mapping[str, str]] = {"AggKey": "btc::AggKey"}


class SolanaThresholdSigner(ThresholdSigner):
    """Solana: ed25519."""

    index = 42
    names: ClassVar[Mapping[str, str]] = {"AggKey": "Address"}
