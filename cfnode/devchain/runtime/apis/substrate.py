"""Substrate's own runtime APIs: blocks, metadata, the transaction queue, consensus, nonces and fees.

Every node uses them (Polkadot spec, "Runtime API"). The APIs of the chain's own pallets are in the `apis_…`
modules next to this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from cfnode.core.scale.metadata import encode_metadata
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.executive import SHAPE, Executive
from cfnode.devchain.runtime.frame import (
    Composition,
    Cost,
    RuntimeApi,
    TransactionValidityError,
    alias,
    method,
    weight,
)
from cfnode.devchain.runtime.frame.calls import RuntimeCall
from cfnode.devchain.runtime.frame.errors import DispatchResult, ValidityErrorValue
from cfnode.devchain.runtime.pallets.aura import Aura
from cfnode.devchain.runtime.pallets.grandpa import Grandpa
from cfnode.devchain.runtime.pallets.system import System
from cfnode.devchain.runtime.pallets.transaction_payment import LENGTH_PRICE, TransactionPayment
from cfnode.runtime.calls import RuntimeTrap

METADATA_VERSIONS = (14, 15)
T = TypeVar("T")
TheBlock = values.Block[values.Header[int], bytes]
Info = values.RuntimeDispatchInfo[int, values.Weight]
Validity = tuple[Literal["Ok"], T] | tuple[Literal["Err"], ValidityErrorValue]
"""A `Result<T, TransactionValidityError>`."""

alias("Extrinsic", SHAPE.whole)
alias("TheBlock", "Block<Header<u32>, Extrinsic>")


class ExecutiveApi(RuntimeApi):
    """Base of the APIs that make and check blocks."""

    api = ""

    def __init__(self, runtime: Composition) -> None:
        super().__init__(runtime)
        self.executive = runtime.service(Executive)


class CoreApi(ExecutiveApi):
    """Blocks as a whole."""

    api = "Core"

    @method("RuntimeVersion")
    def version(self) -> values.RuntimeVersion:
        """Return the version of the runtime."""
        return self.other(System).Constant.Version

    @method("()", block="TheBlock")
    def execute_block(self, block: TheBlock) -> tuple[()]:
        """Execute the block, given without its seal; traps if it is not what its header says."""
        self.executive.execute_block(block.header, block.extrinsics)
        return ()

    @method("ExtrinsicInclusionMode", header="Header<u32>")
    def initialize_block(self, header: values.Header[int]) -> str:
        """Begin a block."""
        self.executive.initialize_block(header)
        return "AllExtrinsics"


class MetadataApi(ExecutiveApi):
    """What the runtime says about itself."""

    api = "Metadata"

    def __init__(self, runtime: Composition) -> None:
        super().__init__(runtime)
        self._encoded: dict[int, bytes] = {}

    @method("OpaqueMetadata")
    def metadata(self) -> bytes:
        """Metadata of version 14."""
        return self._at(14)

    @method("Option<OpaqueMetadata>", version="u32")
    def metadata_at_version(self, version: int) -> bytes | None:
        """Metadata of this version, if there is one."""
        return self._at(version) if version in METADATA_VERSIONS else None

    @method("Vec<u32>")
    def metadata_versions(self) -> Sequence[int]:
        """Return the versions that `metadata_at_version` knows."""
        return METADATA_VERSIONS

    def _at(self, version: int) -> bytes:
        if version not in self._encoded:
            self._encoded[version] = encode_metadata(self.executive.metadata(version))
        return self._encoded[version]


class BlockBuilderApi(ExecutiveApi):
    """Blocks step by step."""

    api = "BlockBuilder"

    @method("Result<Result<(), DispatchError>, TransactionValidityError>", extrinsic="Extrinsic")
    def apply_extrinsic(self, extrinsic: bytes) -> Validity[DispatchResult]:
        """Apply an extrinsic to the block at hand."""
        try:
            return "Ok", self.executive.apply_extrinsic(extrinsic)
        except TransactionValidityError as error:
            return "Err", error.value

    @method("Header<u32>")
    def finalize_block(self) -> values.Header[int]:
        """End the block and give its header."""
        return self.executive.finalize_block()

    @method("Vec<Extrinsic>", inherent="InherentData")
    def inherent_extrinsics(self, inherent: values.InherentData) -> list[bytes]:
        """Return the inherents of the block at hand."""
        return self.executive.inherent_extrinsics(dict(inherent.data))

    @method("CheckInherentsResult", block="TheBlock", data="InherentData")
    def check_inherents(self, block: TheBlock, data: values.InherentData) -> values.CheckInherentsResult:
        """Compare a block's inherents with what this node knows."""
        errors = []
        try:
            self.executive.check_inherents(block.extrinsics, dict(data.data))
        except RuntimeTrap as error:
            errors.append((b"timstap0", str(error).encode()))
        return values.CheckInherentsResult(
            okay=not errors, fatal_error=bool(errors), errors=values.InherentData(errors)
        )


class TaggedTransactionQueueApi(ExecutiveApi):
    """Transactions in a pool."""

    api = "TaggedTransactionQueue"

    @method(
        "Result<ValidTransaction, TransactionValidityError>",
        source="TransactionSource",
        tx="Extrinsic",
        block_hash="H256",
    )
    def validate_transaction(
        self, source: str, tx: bytes, block_hash: bytes
    ) -> Validity[values.ValidTransaction]:
        """Whether, after what, and for how long a transaction may enter a block."""
        try:
            return "Ok", self.executive.validate_transaction(source, tx, block_hash)
        except TransactionValidityError as error:
            return "Err", error.value


class OffchainWorkerApi(RuntimeApi):
    """Work beside the chain; there is none."""

    api = "OffchainWorkerApi"

    @method("()", header="Header<u32>")
    def offchain_worker(self, header: values.Header[int]) -> tuple[()]:
        """Nothing to do."""
        return ()


class AuraApi(RuntimeApi):
    """Slots and authors."""

    api = "AuraApi"

    @method("SlotDuration")
    def slot_duration(self) -> int:
        """Milliseconds of a slot."""
        return self.other(Aura).Constant.SlotDuration

    @method("Vec<aura::Public>")
    def authorities(self) -> Sequence[bytes]:
        """Return the authors, in the order of their turns."""
        return self.other(Aura).Authorities.get()


class GrandpaApi(RuntimeApi):
    """Finality voters."""

    api = "GrandpaApi"

    @method("Vec<(grandpa::Public, u64)>")
    def grandpa_authorities(self) -> Sequence[tuple[bytes, int]]:
        """Return the voters with their weights."""
        return self.other(Grandpa).Authorities.get()

    @method("u64")
    def current_set_id(self) -> int:
        """Return the number of the voters' set."""
        return self.other(Grandpa).CurrentSetId.get()


class SessionKeysApi(RuntimeApi):
    """Session keys. The development authorities' keys are in genesis; none are made here."""

    api = "SessionKeys"

    @method("Bytes", seed="Option<Bytes>")
    def generate_session_keys(self, seed: bytes | None) -> bytes:
        """Not possible: this runtime has no access to a keystore."""
        raise RuntimeTrap("the development runtime makes no session keys: its authorities are in genesis")

    @method("Option<Vec<(Bytes, KeyTypeId)>>", encoded="Bytes")
    def decode_session_keys(self, encoded: bytes) -> list[tuple[bytes, bytes]] | None:
        """Return the keys inside encoded session keys with their types, or None."""
        if len(encoded) != 64:
            return None
        return [(encoded[:32], b"aura"), (encoded[32:], b"gran")]


class AccountNonceApi(RuntimeApi):
    """Nonces."""

    api = "AccountNonceApi"

    @method("u32", account="AccountId32")
    def account_nonce(self, account: bytes) -> int:
        """Return the nonce that the account's next transaction carries."""
        return self.other(System).nonce(account)


class _PaymentApi(ExecutiveApi):
    """What fees are made of."""

    api = ""

    def info(self, cost: Cost, length: int, *, signed: bool) -> Info:
        """Return the `RuntimeDispatchInfo` of an extrinsic of this length, in bytes."""
        fee = self.other(TransactionPayment).fee(length, cost) if signed else 0
        return values.RuntimeDispatchInfo(
            weight=weight(cost.weight, cost.proof), class_=cost.dispatch_class, partial_fee=fee
        )

    def details(self, cost: Cost, length: int, *, signed: bool) -> values.FeeDetails[int]:
        """Return the `FeeDetails` of an extrinsic of this length, in bytes."""
        if not (signed and cost.pays):
            return values.FeeDetails(inclusion_fee=None, tip=0)
        base, by_length, by_weight = TransactionPayment.fee_parts(length, cost)
        fee = values.InclusionFee(base_fee=base, len_fee=by_length, adjusted_weight_fee=by_weight)
        return values.FeeDetails(inclusion_fee=fee, tip=0)


class TransactionPaymentApi(_PaymentApi):
    """Fees of extrinsics."""

    api = "TransactionPaymentApi"

    @method("RuntimeDispatchInfo<u128, Weight>", uxt="Extrinsic", len="u32")
    def query_info(self, uxt: bytes, len: int) -> Info:  # noqa: A002
        """Weight, class and fee of an extrinsic."""
        extrinsic = self.executive.decode_body(uxt)
        return self.info(self.executive.cost(extrinsic), len, signed=extrinsic.signed is not None)

    @method("FeeDetails<u128>", uxt="Extrinsic", len="u32")
    def query_fee_details(self, uxt: bytes, len: int) -> values.FeeDetails[int]:  # noqa: A002
        """Return the parts of an extrinsic's fee."""
        extrinsic = self.executive.decode_body(uxt)
        return self.details(self.executive.cost(extrinsic), len, signed=extrinsic.signed is not None)

    @method("u128", weight="Weight")
    def query_weight_to_fee(self, weight: values.Weight) -> int:
        """Return the price of weight."""
        return TransactionPayment.weight_fee(weight.ref_time)

    @method("u128", length="u32")
    def query_length_to_fee(self, length: int) -> int:
        """Return the price of length."""
        return length * LENGTH_PRICE


class TransactionPaymentCallApi(_PaymentApi):
    """Fees of calls."""

    api = "TransactionPaymentCallApi"

    @method("RuntimeDispatchInfo<u128, Weight>", call="RuntimeCall", len="u32")
    def query_call_info(self, call: RuntimeCall, len: int) -> Info:  # noqa: A002
        """Weight, class and fee of a call in an extrinsic of this length."""
        return self.info(self.runtime.cost(call), len, signed=True)

    @method("FeeDetails<u128>", call="RuntimeCall", len="u32")
    def query_call_fee_details(self, call: RuntimeCall, len: int) -> values.FeeDetails[int]:  # noqa: A002
        """Return the parts of the fee of a call in an extrinsic of this length."""
        return self.details(self.runtime.cost(call), len, signed=True)

    @method("u128", weight="Weight")
    def query_weight_to_fee(self, weight: values.Weight) -> int:
        """Return the price of weight."""
        return TransactionPayment.weight_fee(weight.ref_time)

    @method("u128", length="u32")
    def query_length_to_fee(self, length: int) -> int:
        """Return the price of length."""
        return length * LENGTH_PRICE


SUBSTRATE_APIS: tuple[type[RuntimeApi], ...] = (
    CoreApi,
    MetadataApi,
    BlockBuilderApi,
    TaggedTransactionQueueApi,
    OffchainWorkerApi,
    AuraApi,
    SessionKeysApi,
    GrandpaApi,
    AccountNonceApi,
    TransactionPaymentApi,
    TransactionPaymentCallApi,
)
