"""Threshold signatures of transactions for the EVM chains.

EvmThresholdSigner (24), of pallet_cf_threshold_signature. On the main net the authorities sign together and
one of them submits the result; here the author of the next block signs, with a publicly known key, and
submits the same extrinsic. Transactions are built for the EVM chains only: `signers` has the other signers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from cfnode.core import schnorr
from cfnode.core.hashing import blake2_256, keccak_256
from cfnode.core.schnorr import Signature
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import (
    THRESHOLD_SIGNATURE,
    DispatchError,
    ErrorSet,
    Map,
    OptionalMap,
    Origin,
    Value,
    call,
    event,
    invalid,
)
from cfnode.devchain.runtime.frame.calls import PalletCall, RuntimeCall, split
from cfnode.devchain.runtime.frame.errors import DispatchResult
from cfnode.devchain.runtime.keys import AggKey, secret_of

from .key_rotation import KeyRotation, names_of
from .system import System
from .validator_storage import ValidatorStorage

__all__ = ["SILENT", "EvmThresholdSigner"]

Components = values.SchnorrVerificationComponents
SIGNATURES_PER_BLOCK = 64
LONGEVITY = 64
SILENT = b"devmute0"
"""Inherent data by which an author declines to sign in this block."""


class EvmThresholdSigner(KeyRotation):
    """Ethereum, Arbitrum and Tron: Schnorr over secp256k1."""

    index = 24
    crypto = "EvmCrypto"
    verifies_by_signature = True
    names = names_of("evm::AggKey", crypto)

    ThresholdSignatureRequestIdCounter = Value[int]("u32")
    PendingCeremonies = OptionalMap[int, values.CeremonyContext](
        "Twox64Concat", "u64", "CeremonyContextEvmCrypto"
    )
    CeremonyRetryQueues = Map[int, Sequence[int]]("Twox64Concat", "u32", "Vec<u64>")
    ThresholdSignatureResponseTimeout = Value[int]("u32", default=10)
    RequestCallback = OptionalMap[int, RuntimeCall]("Twox64Concat", "u32", "RuntimeCall")
    SignerAndSignature = OptionalMap[int, values.SignerAndSignatureResult](
        "Twox64Concat", "u32", "SignerAndSignatureResultEvmCrypto"
    )

    class Event(KeyRotation.Event):
        """Events of threshold signatures for EVM chains."""

        ThresholdSignatureRequest = event(
            0,
            request_id="u32",
            ceremony_id="u64",
            epoch="u32",
            key="AggKey",
            signatories="BTreeSet<AccountId32>",
            payload="H256",
        )
        ThresholdSignatureFailed = event(1, request_id="u32", ceremony_id="u64", offenders="Vec<AccountId32>")
        ThresholdSignatureSuccess = event(2, request_id="u32", ceremony_id="u64")
        ThresholdDispatchComplete = event(
            3, request_id="u32", ceremony_id="u64", result="Result<(), DispatchError>"
        )
        RetryRequested = event(4, request_id="u32", ceremony_id="u64")
        KeygenVerificationFailure = event(19, keygen_ceremony_id="u64")

    class Error(ErrorSet):
        """Errors of threshold signatures."""

        InvalidThresholdSignatureCeremonyId = "The provided ceremony id is invalid."
        InvalidKeygenCeremonyId = "An invalid keygen ceremony id"
        InvalidThresholdSignature = "The provided threshold signature is invalid."
        InvalidThresholdSignatureRespondent = (
            "The reporting party is not one of the signatories for this ceremony, or has already\nresponded."
        )
        InvalidKeygenRespondent = (
            "An authority sent a response for a ceremony in which they weren't involved, or to which\n"
            "they have already submitted a response."
        )
        InvalidRequestId = "The request Id is stale or not yet valid."
        ThresholdSignatureUnavailable = "There is no threshold signature available"

    @call(0, ceremony_id="u64", signature="SchnorrVerificationComponents")
    def signature_success(self, origin: Origin, ceremony_id: int, signature: Components) -> None:
        """Report the authorities' signature. Unsigned: the signature itself is what counts."""
        origin.ensure_none()
        error = self.Error.InvalidThresholdSignatureCeremonyId
        context = self.require(self.PendingCeremonies.take(ceremony_id), error)
        self.ensure(self._is_signed(context, signature), self.Error.InvalidThresholdSignature)
        request_id = context.request_context.request_id
        signing = values.SignerAndSignatureResult(
            signer=context.key, signature_result=values.AsyncResultReady(("Ok", signature))
        )
        self.SignerAndSignature.put(request_id, signing)
        self.deposit(self.Event.ThresholdSignatureSuccess, request_id=request_id, ceremony_id=ceremony_id)
        self._call_back(request_id, ceremony_id)

    @call(5, keygen_ceremony_id="u64", threshold_request_id="u32", new_public_key="AggKey")
    def on_keygen_verification_result(
        self,
        origin: Origin,
        keygen_ceremony_id: int,
        threshold_request_id: int,
        new_public_key: values.EvmAggKey,
    ) -> None:
        """Take the result of the signature that tries a generated key."""
        origin.ensure_threshold_signed()
        if self._has_been_signed(threshold_request_id):
            self.note_verified()
        else:
            self.note_failed()
            self.deposit(self.Event.KeygenVerificationFailure, keygen_ceremony_id=keygen_ceremony_id)

    def request_signature(self, payload: bytes) -> int:
        """Have 32 bytes signed by the current key. Return the request's id, which `on_signed` takes."""
        signatories, key = self.other(ValidatorStorage).quorum(), self.active_key()
        assert key is not None
        return self._request(payload, key, self.key_epoch, signatories, "Standard")

    def active_key(self) -> values.EvmAggKey | None:
        """Return the aggregate key of the current key epoch, or None."""
        key = super().active_key()
        assert key is None or isinstance(key, values.EvmAggKey)
        return key

    def request_verification(
        self, key: AggKey, participants: Sequence[bytes], epoch: int, ceremony_id: int
    ) -> None:
        """Request a signature with a new key, which proves that its participants hold it."""
        assert isinstance(key, values.EvmAggKey)
        payload = blake2_256(_compressed(key))
        request_id = self._request(payload, key, epoch, participants, "KeygenVerification")
        arguments = {
            "keygen_ceremony_id": ceremony_id,
            "threshold_request_id": request_id,
            "new_public_key": key,
        }
        self.on_signed(request_id, (self.name, ("on_keygen_verification_result", arguments)))

    def _request(
        self,
        payload: bytes,
        key: values.EvmAggKey,
        epoch: int,
        signatories: Sequence[bytes],
        kind: Literal["Standard", "KeygenVerification"],
    ) -> int:
        request_id = self.ThresholdSignatureRequestIdCounter.mutate(lambda last: last + 1)
        self.SignerAndSignature.put(
            request_id, values.SignerAndSignatureResult(signer=key, signature_result="Pending")
        )
        context = values.RequestContext(request_id=request_id, attempt_count=0, payload=payload)
        self._begin_ceremony(context, epoch, key, signatories, kind)
        return request_id

    def _begin_ceremony(
        self,
        context: values.RequestContext,
        epoch: int,
        key: values.EvmAggKey,
        signatories: Sequence[bytes],
        kind: Literal["Standard", "KeygenVerification"],
    ) -> None:
        """Ask the authorities to sign. `_time_out` ends a ceremony that is not signed in time."""
        ceremony_id = self.next_ceremony_id()
        self.PendingCeremonies.put(
            ceremony_id,
            values.CeremonyContext(
                request_context=context,
                remaining_respondents=signatories,
                blame_counts=[],
                candidates=signatories,
                epoch=epoch,
                key=key,
                threshold_ceremony_type=kind,
            ),
        )
        retry_at = self.other(System).Number.get() + self.ThresholdSignatureResponseTimeout.get()
        self.CeremonyRetryQueues.mutate(retry_at, lambda queue: [*queue, ceremony_id])
        self.deposit(
            self.Event.ThresholdSignatureRequest,
            request_id=context.request_id,
            ceremony_id=ceremony_id,
            epoch=epoch,
            key=key,
            signatories=signatories,
            payload=context.payload,
        )

    def on_initialize(self, number: int) -> None:
        """Go on with a rotation, and time out the ceremonies that are not signed by this block."""
        super().on_initialize(number)
        for ceremony_id in self.CeremonyRetryQueues.take(number):
            ceremony = self.PendingCeremonies.take(ceremony_id)
            if ceremony is not None:
                self._time_out(ceremony_id, ceremony)

    def _time_out(self, ceremony_id: int, ceremony: values.CeremonyContext) -> None:
        """Ask for a signature once more; one that verifies a new key has failed instead."""
        context = ceremony.request_context
        request_id = context.request_id
        if ceremony.threshold_ceremony_type == "KeygenVerification":
            signing = values.SignerAndSignatureResult(
                signer=ceremony.key, signature_result=values.AsyncResultReady(("Err", []))
            )
            self.SignerAndSignature.put(request_id, signing)
            self._call_back(request_id, ceremony_id)
            self.deposit(
                self.Event.ThresholdSignatureFailed,
                request_id=request_id,
                ceremony_id=ceremony_id,
                offenders=[],
            )
            return
        next_attempt = replace(context, attempt_count=context.attempt_count + 1)
        signatories = self.other(ValidatorStorage).quorum()
        self._begin_ceremony(next_attempt, ceremony.epoch, ceremony.key, signatories, "Standard")
        self.deposit(self.Event.RetryRequested, request_id=request_id, ceremony_id=ceremony_id)

    def is_unsigned(self, request_id: int) -> bool:
        """Return whether a signature request is still open."""
        return self.SignerAndSignature.contains(request_id)

    def on_signed(self, request_id: int, callback: RuntimeCall) -> None:
        """Dispatch a call when the request's signature is there."""
        self.RequestCallback.put(request_id, callback)

    def take_signature(self, request_id: int) -> tuple[values.EvmAggKey, Signature] | None:
        """Remove a request, and return its key and signature; None if it has not been signed."""
        signing = self.SignerAndSignature.take(request_id)
        if signing is None or not isinstance(signing.signature_result, values.AsyncResultReady):
            return None
        verdict = signing.signature_result.value
        return (signing.signer, _signature(verdict[1])) if verdict[0] == "Ok" else None

    def create_inherents(self, data: Mapping[bytes, bytes]) -> Sequence[PalletCall]:
        """Return the signatures of pending ceremonies, oldest first; none if the author declines to sign."""
        if SILENT in data:
            return []
        ceremonies = sorted(self.PendingCeremonies.items(), key=lambda item: item[0])
        return [
            ("signature_success", {"ceremony_id": ceremony_id, "signature": _signed(ceremony_id, context)})
            for ceremony_id, context in ceremonies[:SIGNATURES_PER_BLOCK]
        ]

    def validate_unsigned(self, source: str, call: PalletCall) -> values.ValidTransaction | None:
        """Accept a signature that is valid for an open ceremony. Raises TransactionValidityError."""
        _, arguments = split(call)
        context = self.PendingCeremonies.get(arguments["ceremony_id"])
        if context is None:
            raise invalid("Stale")
        if not self._is_signed(context, arguments["signature"]):
            raise invalid("BadProof")
        return values.ValidTransaction(
            priority=2**63,
            requires=[],
            provides=[self.codec("(str, u64)").encode((self.name, arguments["ceremony_id"]))],
            longevity=LONGEVITY,
            propagate=True,
        )

    def _has_been_signed(self, request_id: int) -> bool:
        """Remove a request, and return whether it has ended with a signature.

        Fails with ThresholdSignatureUnavailable if there is no such request.
        """
        error = self.Error.ThresholdSignatureUnavailable
        signing = self.require(self.SignerAndSignature.take(request_id), error)
        result = signing.signature_result
        return isinstance(result, values.AsyncResultReady) and result.value[0] == "Ok"

    def _call_back(self, request_id: int, ceremony_id: int) -> None:
        """Dispatch the call that waits for the end of a request."""
        callback = self.RequestCallback.take(request_id)
        result: DispatchResult = ("Ok", ())
        try:
            if callback is not None:
                self.runtime.dispatch(callback, THRESHOLD_SIGNATURE)
        except DispatchError as error:
            result = ("Err", error.value)
        self.deposit(
            self.Event.ThresholdDispatchComplete,
            request_id=request_id,
            ceremony_id=ceremony_id,
            result=result,
        )

    @staticmethod
    def _is_signed(context: values.CeremonyContext, signature: Components) -> bool:
        payload = context.request_context.payload
        return schnorr.verify(_compressed(context.key), payload, _signature(signature))


def _compressed(key: values.EvmAggKey) -> bytes:
    return (b"\3" if key.pub_key_y_parity == "Odd" else b"\2") + key.pub_key_x


def _signature(value: Components) -> Signature:
    return Signature(value.s, value.k_times_g_address)


def _signed(ceremony_id: int, context: values.CeremonyContext) -> Components:
    """Sign a ceremony. The one-time key depends on secret, ceremony and payload, as it must."""
    payload, secret = context.request_context.payload, secret_of(context.key, context.epoch)
    one_time = keccak_256(secret + ceremony_id.to_bytes(8, "little") + payload)
    signature = schnorr.sign(secret, one_time, payload)
    return Components(s=signature.s, k_times_g_address=signature.k_times_g_address)
