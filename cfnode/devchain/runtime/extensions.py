"""Transaction extensions: the checks of a signed transaction before its call is done.

They are those of runtime 2.2.3 in its order. Each may put an explicit part into the extrinsic and an implicit
part into the signed payload; each may refuse the transaction when it is validated (`validate`) and when it is
applied (`prepare`). (Polkadot spec, "Transaction validity"; FRAME's transaction extensions.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from cfnode.core.era import IMMORTAL, Era
from cfnode.core.extrinsic import Extrinsic
from cfnode.core.scale import ScaleError

from . import values
from .frame import Composition, Cost, invalid
from .frame.calls import RuntimeCall
from .frame.types import struct
from .frame.weights import (
    BASE_EXTRINSIC_PS,
    MAX_BLOCK_BYTES,
    MAX_BLOCK_PS,
    MAX_NORMAL_BYTES,
    MAX_NORMAL_EXTRINSIC_PS,
    MAX_NORMAL_PS,
    MAX_OPERATIONAL_EXTRINSIC_PS,
    UNLIMITED_PROOF_BYTES,
    Weight,
    weight,
)
from .measured_weights import CHECK_IMMORTAL, CHECK_MORTAL, EXTENSION_WEIGHTS
from .pallets.system import System
from .pallets.transaction_payment import TransactionPayment

U64_MAX = 2**64 - 1


@dataclass(slots=True)
class CheckedTransaction:
    """A signed transaction on its way through the extensions, and what they have found out."""

    extrinsic: Extrinsic
    who: bytes
    length: int
    cost: Cost
    fee: int = 0
    escrow: int = 0
    priority: int = 0
    longevity: int = U64_MAX
    requires: list[bytes] = field(default_factory=list)
    provides: list[bytes] = field(default_factory=list)


def call_of(extrinsic: Extrinsic) -> RuntimeCall:
    """Return the call of an extrinsic."""
    call: RuntimeCall = extrinsic.call
    return call


class Extension:
    """One extension. `explicit` and `implicit` are type expressions."""

    path: ClassVar[str]
    explicit_fields: ClassVar[tuple[str, ...]] = ()
    named_fields: ClassVar[dict[str, str]] = {}
    implicit: ClassVar[str] = "()"
    identifier: ClassVar[str]
    explicit: ClassVar[str]

    def __init_subclass__(cls) -> None:
        """Derive the identifier from the class's name, and the type from the path and the explicit fields."""
        cls.identifier = cls.__name__
        cls.explicit = struct(cls.path, *cls.explicit_fields, **cls.named_fields)

    def __init__(self, runtime: Composition) -> None:
        self.runtime = runtime
        self.system = runtime.pallet(System)

    def implicit_value(self, extrinsic: Extrinsic) -> object:
        """Return the value that is part of the signed payload, but not of the extrinsic."""
        return ()

    def validate(self, transaction: CheckedTransaction) -> None:
        """Refuse the transaction at this state (TransactionValidityError), or note its order and life."""

    def prepare(self, transaction: CheckedTransaction) -> None:
        """Check the transaction last, and write what has to be written before the call is done."""


class AuthorizeCall(Extension):
    """For calls that authorize themselves; the runtime has none."""

    path = "frame_system::extensions::authorize_call::AuthorizeCall"


class CheckNonZeroSender(Extension):
    """The zero account signs nothing."""

    path = "frame_system::extensions::check_non_zero_sender::CheckNonZeroSender"

    def validate(self, transaction: CheckedTransaction) -> None:
        """Refuse the account of 32 zero bytes. Raises TransactionValidityError."""
        if transaction.who == bytes(32):
            raise invalid("BadSigner")


class CheckSpecVersion(Extension):
    """Signed for this runtime."""

    path = "frame_system::extensions::check_spec_version::CheckSpecVersion"
    implicit = "u32"

    def implicit_value(self, extrinsic: Extrinsic) -> int:
        """Return the spec version that the signature covers."""
        return self.system.Constant.Version.spec_version


class CheckTxVersion(Extension):
    """Signed for this format of calls and extensions."""

    path = "frame_system::extensions::check_tx_version::CheckTxVersion"
    implicit = "u32"

    def implicit_value(self, extrinsic: Extrinsic) -> int:
        """Return the transaction version that the signature covers."""
        return self.system.Constant.Version.transaction_version


class CheckGenesis(Extension):
    """Signed for this chain."""

    path = "frame_system::extensions::check_genesis::CheckGenesis"
    implicit = "H256"

    def implicit_value(self, extrinsic: Extrinsic) -> bytes:
        """Return the genesis hash that the signature covers."""
        genesis: bytes = self.system.BlockHash.get(0)
        return genesis


class CheckMortality(Extension):
    """Signed for blocks of a branch: the hash of the era's first block is part of the payload."""

    path = "frame_system::extensions::check_mortality::CheckMortality"
    explicit_fields = ("Era",)
    implicit = "H256"

    def implicit_value(self, extrinsic: Extrinsic) -> bytes:
        """Return the hash of the block at which the era begins.

        Raises TransactionValidityError if it is too old.
        """
        birth = self._era(extrinsic).birth(self.system.Number.get())
        if not self.system.BlockHash.contains(birth):
            raise invalid("AncientBirthBlock")
        block_hash: bytes = self.system.BlockHash.get(birth)
        return block_hash

    def validate(self, transaction: CheckedTransaction) -> None:
        """Limit the longevity to the blocks until the era ends."""
        now: int = self.system.Number.get()
        death = self._era(transaction.extrinsic).death(now)
        transaction.longevity = min(transaction.longevity, (U64_MAX if death is None else death) - now)

    @staticmethod
    def _era(extrinsic: Extrinsic) -> Era:
        try:
            return extrinsic.era or IMMORTAL
        except ScaleError:
            raise invalid("BadProof") from None


class CheckNonce(Extension):
    """Every transaction of an account once, and in order."""

    path = "frame_system::extensions::check_nonce::CheckNonce"
    explicit_fields = ("Compact<u32>",)

    def validate(self, transaction: CheckedTransaction) -> None:
        """Refuse a used nonce and an unfunded account, and tag the transaction for its order in the pool."""
        account = self.system.Account.get(transaction.who)
        if not (account.providers or account.sufficients):
            raise invalid("Payment")
        nonce, expected = transaction.extrinsic.nonce or 0, account.nonce
        if nonce < expected:
            raise invalid("Stale")
        transaction.provides.append(self._tag(transaction.who, nonce))
        if nonce > expected:
            transaction.requires.append(self._tag(transaction.who, nonce - 1))

    def prepare(self, transaction: CheckedTransaction) -> None:
        """Require the account's next nonce, and count it. Raises TransactionValidityError."""
        expected = self.system.nonce(transaction.who)
        if (transaction.extrinsic.nonce or 0) != expected:
            raise invalid("Stale" if (transaction.extrinsic.nonce or 0) < expected else "Future")
        self.system.inc_nonce(transaction.who)

    @staticmethod
    def _tag(who: bytes, nonce: int) -> bytes:
        return who + nonce.to_bytes(4, "little")


class CheckWeight(Extension):
    """Room in the block, in time and in bytes."""

    path = "frame_system::extensions::check_weight::CheckWeight"

    def validate(self, transaction: CheckedTransaction) -> None:
        """Refuse a transaction that fits in no block. Raises TransactionValidityError."""
        check_size(transaction.cost, transaction.length)

    def prepare(self, transaction: CheckedTransaction) -> None:
        """Take the transaction's weight and length from the room of the block.

        Raises TransactionValidityError.
        """
        take_room(self.system, transaction.cost, transaction.length)


class ChargeTransactionPayment(Extension):
    """The fee, taken before the call is done and settled afterwards."""

    path = "pallet_transaction_payment::ChargeTransactionPayment"
    explicit_fields = ("Compact<u128>",)

    def __init__(self, runtime: Composition) -> None:
        super().__init__(runtime)
        self.payment = runtime.pallet(TransactionPayment)

    def validate(self, transaction: CheckedTransaction) -> None:
        """Calculate fee and priority, and refuse an account that cannot pay.

        Raises TransactionValidityError.
        """
        transaction.fee = self._fee(transaction)
        if not self.payment.can_pay(transaction.who, transaction.fee, call_of(transaction.extrinsic)):
            raise invalid("Payment")
        transaction.priority = self._priority(transaction)

    def prepare(self, transaction: CheckedTransaction) -> None:
        """Withdraw the fee into escrow until the call has been executed. Raises TransactionValidityError."""
        escrow = self.payment.withdraw(transaction.who, transaction.fee, call_of(transaction.extrinsic))
        if escrow is None:
            raise invalid("Payment")
        transaction.escrow = escrow

    def _fee(self, transaction: CheckedTransaction) -> int:
        return self.payment.fee(transaction.length, transaction.cost, transaction.extrinsic.tip or 0)

    def _priority(self, transaction: CheckedTransaction) -> int:
        """Return the priority: the tip, times the number of such transactions that fit into a block."""
        normal = transaction.cost.dispatch_class == "Normal"
        length = MAX_NORMAL_BYTES if normal else MAX_BLOCK_BYTES
        cost_weight = min(max(transaction.cost.weight, 1), MAX_BLOCK_PS)
        by_weight = min(MAX_BLOCK_PS // cost_weight, UNLIMITED_PROOF_BYTES // max(transaction.cost.proof, 1))
        fitting = min(by_weight, length // min(max(transaction.length, 1), length))
        priority = ((transaction.extrinsic.tip or 0) + 1) * fitting
        if not normal:
            priority += transaction.fee * self.payment.Constant.OperationalFeeMultiplier * fitting
        return min(priority, U64_MAX)


class CheckMetadataHash(Extension):
    """For signers that show metadata by its hash; the runtime has none built in, so only `Disabled` holds."""

    path = "frame_metadata_hash_extension::CheckMetadataHash"
    named_fields: ClassVar[dict[str, str]] = {"mode": "Mode"}
    implicit = "Option<[u8; 32]>"

    def implicit_value(self, extrinsic: Extrinsic) -> None:
        """Return None: the signature covers no metadata hash.

        Raises TransactionValidityError if one is demanded.
        """
        fields: Mapping[str, str] = extrinsic.extensions[self.identifier]
        if fields["mode"] != "Disabled":
            raise invalid("Call")


class WeightReclaim(Extension):
    """Gives unused weight back; calls cost here what they declare."""

    path = "frame_system::extensions::weight_reclaim::WeightReclaim"


EXTENSIONS: tuple[type[Extension], ...] = (
    AuthorizeCall,
    CheckNonZeroSender,
    CheckSpecVersion,
    CheckTxVersion,
    CheckGenesis,
    CheckMortality,
    CheckNonce,
    CheckWeight,
    ChargeTransactionPayment,
    CheckMetadataHash,
    WeightReclaim,
)


FIXED_TIME = sum(extension_weight.ref_time for extension_weight in EXTENSION_WEIGHTS.values())
FIXED_PROOF = sum(extension_weight.proof_size for extension_weight in EXTENSION_WEIGHTS.values())


def extensions_weight(extrinsic: Extrinsic) -> Weight:
    """Return the weight of all extensions, for which the sender pays: only that of CheckMortality differs."""
    try:
        mortal = not (extrinsic.era or IMMORTAL).is_immortal
    except ScaleError:  # validation refuses a malformed era
        mortal = True
    mortality = CHECK_MORTAL if mortal else CHECK_IMMORTAL
    return Weight(FIXED_TIME + mortality.ref_time, FIXED_PROOF + mortality.proof_size)


LARGEST = {
    "Normal": (MAX_NORMAL_EXTRINSIC_PS, MAX_NORMAL_BYTES),
    "Operational": (MAX_OPERATIONAL_EXTRINSIC_PS, MAX_BLOCK_BYTES),
    "Mandatory": (None, MAX_BLOCK_BYTES),
}
"""Maximum weight and length of one extrinsic of a class."""


def check_size(cost: Cost, length: int) -> None:
    """Refuse an extrinsic that is too large for an empty block. Raises TransactionValidityError."""
    heaviest, longest = LARGEST[cost.dispatch_class]
    if (heaviest is not None and cost.weight > heaviest) or length > longest:
        raise invalid("ExhaustsResources")


def take_room(system: System, cost: Cost, length: int) -> None:
    """Add an extrinsic to the block's weight and length, or refuse it: ExhaustsResources.

    For operational calls as much weight as for normal ones is reserved, even in a block that is full. Proof,
    of which the extrinsic itself is a part, is counted and not limited: the chain allows more than blocks can
    have.
    """
    used = system.BlockWeight.get()
    name = cost.dispatch_class.lower()
    of_class: values.Weight = getattr(used, name)
    in_class = of_class.ref_time + cost.weight + BASE_EXTRINSIC_PS
    so_far = used.normal.ref_time + used.operational.ref_time + used.mandatory.ref_time
    total_weight = so_far + cost.weight + BASE_EXTRINSIC_PS
    total = (system.AllExtrinsicsLen.get() or 0) + length
    if name == "normal" and (in_class > MAX_NORMAL_PS or total > MAX_NORMAL_BYTES):
        raise invalid("ExhaustsResources")
    if total > MAX_BLOCK_BYTES:
        raise invalid("ExhaustsResources")
    reserved = MAX_NORMAL_PS if name == "operational" else 0
    if name != "mandatory" and total_weight > MAX_BLOCK_PS and in_class > reserved:
        raise invalid("ExhaustsResources")
    proof = of_class.proof_size + cost.proof + length
    system.BlockWeight.put(replace(used, **{name: weight(in_class, proof)}))
    system.AllExtrinsicsLen.put(total)
