"""The executive: how the runtime builds, checks and executes a block and its extrinsics.

The order of FRAME's executive: migrations if the runtime was replaced, on_initialize of all pallets,
inherents, signed and other extrinsics, on_idle, on_finalize, header. Executing a finished block goes the same
way and compares the header to the last bit. (Polkadot spec, "Block production", "Block format", extrinsics.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from cfnode.core.extrinsic import Extrinsic, bare_extrinsic, decode_extrinsic, payload_to_sign
from cfnode.core.scale import ScaleError, encode_compact
from cfnode.core.scale.metadata import Metadata
from cfnode.core.trie import ordered_root
from cfnode.runtime.calls import RuntimeTrap

from . import values
from .config import DevGenesis
from .extensions import EXTENSIONS, Extension, Transaction, call_of, check_size, extensions_weight, take_room
from .frame import (
    NONE,
    Composition,
    Cost,
    DispatchError,
    Origin,
    Pallet,
    TransactionValidityError,
    invalid,
    unknown,
    weight,
)
from .frame.calls import PalletCall
from .frame.composition import Service
from .frame.errors import DispatchResult
from .frame.metadata import ExtrinsicShape, derive
from .frame.weights import BASE_BLOCK_PS
from .pallets.chain_pallet import ChainPallet
from .pallets.system import BLOCK_HASH_COUNT, System
from .pallets.transaction_payment import TransactionPayment
from .releases import RELEASES, Release, release_for
from .signatures import is_signed_by
from .version import EXTRINSICS_VERSION, STATE_VERSION

SHAPE = ExtrinsicShape(
    address="MultiAddress<AccountId32, ()>",
    signature="MultiSignature",
    extensions=[(extension.identifier, extension.explicit, extension.implicit) for extension in EXTENSIONS],
)


class Executive(Service):
    """The block logic of one composition. Headers and blocks are values of their SCALE types."""

    def __init__(self, runtime: Composition) -> None:
        super().__init__(runtime)
        self.system = runtime.pallet(System)
        self.extensions: tuple[Extension, ...] = tuple(kind(runtime) for kind in EXTENSIONS)
        self._metadata: dict[int, Metadata] = {}
        self._implicit = runtime.codec_of(f"({', '.join(extension.implicit for extension in EXTENSIONS)})")

    def metadata(self, version: int) -> Metadata:
        """Return the runtime's metadata, of version 14 or 15; it is derived once."""
        if version not in self._metadata:
            self._metadata[version] = derive(self.runtime, SHAPE, version)
        return self._metadata[version]

    @cached_property
    def _own_metadata(self) -> Metadata:
        """The metadata with the runtime's own codecs: values in calls are of the classes in `values`."""
        return replace(self.metadata(15), registry=self.runtime.types.registry)

    # A block from beginning to end

    def initialize_block(self, header: values.Header[int]) -> None:
        """Begin the block of this header, from its number, parent and pre-runtime digest items."""
        number = header.number
        if number != self.system.Number.get() + 1:
            raise RuntimeTrap(f"block {number} does not follow block {self.system.Number.get()}")
        pre_runtime = [item for item in header.digest.logs if isinstance(item, values.DigestItemPreRuntime)]
        self.system.begin_block(number, header.parent_hash, values.Digest(pre_runtime))
        old_version = self.system.note_version()
        if old_version is not None:
            self._migrate(release_for(old_version))
        self.system.BlockWeight.put(
            values.PerDispatchClass(normal=weight(0), operational=weight(0), mandatory=weight(BASE_BLOCK_PS))
        )
        for pallet in self.runtime.pallets:
            pallet.on_initialize(number)
        self.system.ExecutionPhase.put(values.PhaseApplyExtrinsic(0))

    def _migrate(self, before: Release) -> None:
        """Bring the storage from the release before to this one, through those between them.

        A foreign chain that the release before lacks begins as in a genesis.
        """
        for pallet in self.runtime.pallets:
            pallet.on_runtime_upgrade()
        for pallet in self.runtime.pallets:
            if isinstance(pallet, ChainPallet) and pallet.chain.name not in before.chains:
                pallet.genesis(DevGenesis())
        for name, release in RELEASES.items():
            if before.number < release.number <= self.runtime.release.number:
                for pallet in self.runtime.pallets:
                    if name in pallet.migrations:
                        method = pallet.migrations[name]
                        getattr(pallet.holder(method), method)()

    def apply_extrinsic(self, body: bytes) -> DispatchResult:
        """Apply one extrinsic, given without its length prefix; returns ("Ok", ()) or ("Err", DispatchError).

        Raises TransactionValidityError, and undoes all writes, if it may not be in this block.
        """
        return self._apply_decoded(self.decode_body(body), body)

    def _apply_decoded(self, extrinsic: Extrinsic, body: bytes) -> DispatchResult:
        self.runtime.host.begin()
        try:
            outcome = self._apply(extrinsic, encode_compact(len(body)) + body)
        except BaseException:
            self.runtime.host.rollback()
            raise
        self.runtime.host.commit()
        return outcome

    def finalize_block(self) -> values.Header[int]:
        """End the block, and return its header, with the state root and without a seal."""
        self.system.ExtrinsicCount.put(self.system.extrinsic_index())
        self.system.set_extrinsic_index(None)
        self.system.ExecutionPhase.put("Finalization")
        number = self.system.Number.get()
        for pallet in self.runtime.pallets:
            pallet.on_idle(number)
        for pallet in self.runtime.pallets:
            pallet.on_finalize(number)
        return self._header(number)

    def execute_block(self, header: values.Header[int], extrinsics: Sequence[bytes]) -> None:
        """Execute a finished block, given without its seal. Raises RuntimeTrap if its header is wrong."""
        self.initialize_block(header)
        decoded = [self.decode_body(body) for body in extrinsics]
        self._check_order(decoded)
        for position, (extrinsic, body) in enumerate(zip(decoded, extrinsics, strict=True)):
            try:
                self._apply_decoded(extrinsic, body)
            except TransactionValidityError as error:
                raise RuntimeTrap(f"extrinsic {position} may not be in the block: {error}") from None
        computed = self.finalize_block()
        for field, stated_value, computed_value in (
            ("digest", header.digest, computed.digest),
            ("extrinsics_root", header.extrinsics_root, computed.extrinsics_root),
            ("state_root", header.state_root, computed.state_root),
        ):
            if stated_value != computed_value:
                raise RuntimeTrap(
                    f"the block's {field} is {_text(stated_value)}, execution gives {_text(computed_value)}"
                )

    # Inherents

    def inherent_extrinsics(self, data: Mapping[bytes, bytes]) -> list[bytes]:
        """Create the inherents that this block needs, without their length prefixes."""
        inherents = []
        for pallet in self.runtime.pallets:
            for call in pallet.create_inherents(data):
                encoded = self.runtime.call_codec.encode((pallet.name, call))
                inherents.append(bare_extrinsic(encoded)[len(encode_compact(len(encoded) + 1)) :])
        return inherents

    def check_inherents(self, extrinsics: Sequence[bytes], data: Mapping[bytes, bytes]) -> None:
        """Compare a block's inherents with what this node knows. Raises RuntimeTrap if they differ."""
        for body in extrinsics:
            extrinsic = self.decode_body(body)
            if self._is_inherent(extrinsic):
                pallet, call = self._called(extrinsic)
                pallet.check_inherent(call, data)

    # Transactions

    def decode(self, data: bytes) -> Extrinsic:
        """Decode an extrinsic with its length prefix. Raises RuntimeTrap if it is malformed."""
        try:
            extrinsic = decode_extrinsic(self._own_metadata, data)
            self.runtime.check_bounds(call_of(extrinsic))
            return extrinsic
        except ScaleError as error:
            raise RuntimeTrap(f"the extrinsic cannot be decoded: {error}") from None

    def decode_body(self, body: bytes) -> Extrinsic:
        """Decode an extrinsic without its length prefix. Raises RuntimeTrap if it is malformed."""
        return self.decode(encode_compact(len(body)) + body)

    def cost(self, extrinsic: Extrinsic) -> Cost:
        """Return the cost of an extrinsic: its call, and the extensions if it is signed."""
        cost = self.runtime.cost(call_of(extrinsic))
        if extrinsic.signed is None:
            return cost
        return cost.plus(*extensions_weight(extrinsic))

    def validate_transaction(self, source: str, body: bytes, block_hash: bytes) -> values.ValidTransaction:
        """Validate an extrinsic in the state after `block_hash`. Undoes all writes.

        Raises TransactionValidityError or RuntimeTrap.
        """
        self.runtime.host.begin()
        try:
            number = self.system.Number.get() + 1
            self.system.begin_block(number, block_hash, values.Digest([]))
            return self._validate(source, encode_compact(len(body)) + body)
        finally:
            self.runtime.host.rollback()

    def _validate(self, source: str, data: bytes) -> values.ValidTransaction:
        extrinsic = self.decode(data)
        cost = self.cost(extrinsic)
        if cost.dispatch_class == "Mandatory":
            raise invalid("MandatoryValidation")
        if extrinsic.signed is None:
            check_size(cost, len(data))
            return self._validate_unsigned(source, extrinsic)
        transaction = self._checked(extrinsic, len(data), cost)
        for extension in self.extensions:
            extension.validate(transaction)
        return values.ValidTransaction(
            priority=transaction.priority,
            requires=transaction.requires,
            provides=transaction.provides,
            longevity=transaction.longevity,
            propagate=True,
        )

    def _validate_unsigned(self, source: str, extrinsic: Extrinsic) -> values.ValidTransaction:
        if extrinsic.extensions:
            raise invalid("UnknownOrigin")
        pallet, call = self._called(extrinsic)
        valid = pallet.validate_unsigned(source, call)
        if valid is None:
            raise invalid("Call") if source == "External" else unknown("NoUnsignedValidator")
        return valid

    def _checked(self, extrinsic: Extrinsic, length: int, cost: Cost) -> Transaction:
        """Verify the signature, and return the transaction. Raises TransactionValidityError."""
        assert extrinsic.signed is not None
        who: object = extrinsic.signed.address
        signature: tuple[str, bytes] = extrinsic.signed.signature
        if not isinstance(who, bytes):
            raise unknown("CannotLookup")
        implicit = tuple(extension.implicit_value(extrinsic) for extension in self.extensions)
        payload = payload_to_sign(
            extrinsic.call_bytes, extrinsic.signed.explicit, self._implicit.encode(implicit)
        )
        if not is_signed_by(who, payload, signature):
            raise invalid("BadProof")
        return Transaction(extrinsic, who, length, cost)

    # Applying

    def _apply(self, extrinsic: Extrinsic, data: bytes) -> DispatchResult:
        cost = self.cost(extrinsic)
        if not self.system.InherentsApplied.get() and not self._is_inherent(extrinsic):
            self.system.InherentsApplied.put(True)
        transaction = self._prepared(extrinsic, len(data), cost)
        index = self.system.extrinsic_index()
        self.system.ExtrinsicData.put(index, data)
        outcome = self._dispatched(extrinsic, transaction, cost)
        self.system.set_extrinsic_index(index + 1)
        self.system.ExecutionPhase.put(values.PhaseApplyExtrinsic(index + 1))
        return outcome

    def _prepared(self, extrinsic: Extrinsic, length: int, cost: Cost) -> Transaction | None:
        """Do all checks, and take the fee, before the call; returns None for a bare extrinsic."""
        if extrinsic.signed is None:
            if not self._is_inherent(extrinsic):
                self._validate_unsigned("InBlock", extrinsic)
                pallet, call = self._called(extrinsic)
                pallet.prepare_unsigned(call)
            take_room(self.system, cost, length)
            return None
        transaction = self._checked(extrinsic, length, cost)
        for extension in self.extensions:
            extension.validate(transaction)
        for extension in self.extensions:
            extension.prepare(transaction)
        return transaction

    def _dispatched(
        self, extrinsic: Extrinsic, transaction: Transaction | None, cost: Cost
    ) -> DispatchResult:
        outcome: DispatchResult = ("Ok", ())
        try:
            self.runtime.dispatch(call_of(extrinsic), Origin.signed(transaction.who) if transaction else NONE)
        except DispatchError as error:
            if cost.dispatch_class == "Mandatory":
                raise invalid("BadMandatory") from None
            outcome = ("Err", error.value)
        if transaction is not None:
            self._settle(transaction)
        event = self.system.Event
        if outcome[0] == "Ok":
            self.system.deposit(event.ExtrinsicSuccess, dispatch_info=cost.info())
        else:
            self.system.deposit(event.ExtrinsicFailed, dispatch_error=outcome[1], dispatch_info=cost.info())
        return outcome

    def _settle(self, transaction: Transaction) -> None:
        """Settle the fee from what was taken before the call."""
        payment = self.runtime.pallet(TransactionPayment)
        payment.settle(transaction.who, transaction.fee, transaction.escrow, call_of(transaction.extrinsic))
        payment.note_paid(transaction.who, transaction.fee, transaction.extrinsic.tip or 0)

    def _is_inherent(self, extrinsic: Extrinsic) -> bool:
        if extrinsic.signed is not None or extrinsic.extensions:
            return False
        pallet, call = self._called(extrinsic)
        return pallet.is_inherent(call)

    def _called(self, extrinsic: Extrinsic) -> tuple[Pallet, PalletCall]:
        """Return the pallet that an extrinsic calls, and its call."""
        name, call = call_of(extrinsic)
        return self.runtime.by_name[name], call

    def _check_order(self, extrinsics: Sequence[Extrinsic]) -> None:
        is_after_inherents = False
        for position, extrinsic in enumerate(extrinsics):
            inherent = self._is_inherent(extrinsic)
            if inherent and is_after_inherents:
                raise RuntimeTrap(f"extrinsic {position} is an inherent that follows other extrinsics")
            is_after_inherents = not inherent

    def _header(self, number: int) -> values.Header[int]:
        system = self.system
        system.count_events()
        for leftover in (system.ExecutionPhase, system.AllExtrinsicsLen, system.InherentsApplied):
            leftover.kill()
        count = system.ExtrinsicCount.take() or 0
        extrinsics = [system.ExtrinsicData.take(index) for index in range(count)]
        forgotten = number - BLOCK_HASH_COUNT - 1
        if forgotten > 0:
            system.BlockHash.remove(forgotten)
        return values.Header(
            parent_hash=system.ParentHash.get(),
            number=number,
            state_root=self.runtime.host.root(STATE_VERSION),
            extrinsics_root=ordered_root(extrinsics, EXTRINSICS_VERSION),
            digest=system.Digest.get(),
        )


def _text(value: object) -> str:
    return f"0x{value.hex()}" if isinstance(value, bytes) else repr(value)
