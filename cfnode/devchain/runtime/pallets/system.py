"""Blocks and accounts: number, hashes, digest, events, nonces and reference counts.

System (0): number, hashes, digest and events of the block at hand; nonces and reference counts of accounts
(FRAME's frame_system). An account exists as long as something provides for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from cfnode.core.hashing import blake2_256
from cfnode.core.scale import Codec, ScaleError, decode_compact
from cfnode.core.state import CODE, HEAP_PAGES
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.config import DevGenesis
from cfnode.devchain.runtime.frame import (
    ConstantSet,
    DispatchError,
    ErrorSet,
    EventSet,
    Map,
    OptionalValue,
    Origin,
    Pallet,
    PalletStorage,
    Value,
    call,
    constant,
    event,
    release_constant,
)
from cfnode.devchain.runtime.frame.calls import EventFields, RuntimeEvent
from cfnode.devchain.runtime.frame.composition import Composition
from cfnode.devchain.runtime.frame.declarations import EventDef
from cfnode.devchain.runtime.frame.item import Decoder
from cfnode.devchain.runtime.frame.weights import (
    BLOCK_WEIGHTS,
    MAX_BLOCK_BYTES,
    MAX_NORMAL_BYTES,
    READ_PS,
    WRITE_PS,
)
from cfnode.devchain.runtime.version import runtime_version

BLOCK_HASH_COUNT = 2_400
EXTRINSIC_INDEX = b":extrinsic_index"
CODE_PREFIX = b"cfnode-dev:"


class System(Pallet):
    """Blocks and accounts."""

    index = 0
    crate = "frame_system"

    Account = Map[bytes, values.AccountInfo[int, tuple[()]]](
        "Blake2_128Concat", "AccountId32", "AccountInfo<u32, ()>"
    )
    ExtrinsicCount = OptionalValue[int]("u32")
    InherentsApplied = Value[bool]("bool")
    BlockWeight = Value[values.PerDispatchClass[values.Weight]]("PerDispatchClass<Weight>")
    AllExtrinsicsLen = OptionalValue[int]("u32")
    BlockHash = Map[int, bytes]("Twox64Concat", "u32", "H256")
    ExtrinsicData = Map[int, bytes]("Twox64Concat", "u32", "Bytes")
    Number = Value[int]("u32")
    ParentHash = Value[bytes]("H256")
    Digest = Value[values.Digest]("generic::Digest")
    Events = Value[Sequence[values.EventRecord[RuntimeEvent, bytes]]]("Vec<EventRecord<RuntimeEvent, H256>>")
    EventCount = Value[int]("u32")
    EventTopics = Map[bytes, Sequence[tuple[int, int]]]("Blake2_128Concat", "H256", "Vec<(u32, u32)>")
    LastRuntimeUpgrade = OptionalValue[values.LastRuntimeUpgradeInfo]("LastRuntimeUpgradeInfo")
    UpgradedToU32RefCount = Value[bool]("bool")
    UpgradedToTripleRefCount = Value[bool]("bool")
    ExecutionPhase = OptionalValue[values.Phase]("Phase")
    AuthorizedUpgrade = OptionalValue[values.CodeUpgradeAuthorization]("CodeUpgradeAuthorization")
    ExtrinsicWeightReclaimed = Value[values.Weight]("Weight")

    class Event(EventSet):
        """Events of extrinsics, accounts and code."""

        ExtrinsicSuccess = event(0, dispatch_info="DispatchEventInfo")
        ExtrinsicFailed = event(1, dispatch_error="DispatchError", dispatch_info="DispatchEventInfo")
        CodeUpdated = event(2)
        NewAccount = event(3, account="AccountId32")
        KilledAccount = event(4, account="AccountId32")
        Remarked = event(5, sender="AccountId32", hash="H256")
        UpgradeAuthorized = event(6, code_hash="H256", check_version="bool")
        RejectedInvalidAuthorizedUpgrade = event(7, code_hash="H256", error="DispatchError")

    class Error(ErrorSet):
        """Errors of upgrades and of calls in general."""

        InvalidSpecName = (
            "The name of specification does not match between the current runtime and the new runtime."
        )
        SpecVersionNeedsToIncrease = (
            "The specification version is not allowed to decrease between the current runtime "
            "and the new runtime."
        )
        FailedToExtractRuntimeVersion = (
            "Failed to extract the runtime version from the new runtime.\n\n"
            "Either calling `Core_version` or decoding `RuntimeVersion` failed."
        )
        NonDefaultComposite = "Suicide called when the account has non-default composite data."
        NonZeroRefCount = "There is a non-zero reference count preventing the account from being purged."
        CallFiltered = "The origin filter prevent the call to be dispatched."
        MultiBlockMigrationsOngoing = (
            "A multi-block migration is ongoing and prevents the current code from being replaced."
        )
        NothingAuthorized = "No upgrade authorized."
        Unauthorized = "The submitted code is not authorized."

    class Constant(ConstantSet):
        """Limits of a block, version and SS58 prefix."""

        BlockWeights = constant("BlockWeights", BLOCK_WEIGHTS)
        BlockLength = constant(
            "BlockLength",
            values.BlockLength(
                values.PerDispatchClass(
                    normal=MAX_NORMAL_BYTES, operational=MAX_BLOCK_BYTES, mandatory=MAX_BLOCK_BYTES
                )
            ),
        )
        BlockHashCount = constant("u32", BLOCK_HASH_COUNT)
        DbWeight = constant("RuntimeDbWeight", values.RuntimeDbWeight(read=READ_PS, write=WRITE_PS))
        Version = release_constant("RuntimeVersion", runtime_version)
        SS58Prefix = constant("u16", 2112)

    def __init__(self, runtime: Composition) -> None:
        super().__init__(runtime)
        runtime.deposit_event = self.record

    # Calls

    @call(0, remark="Bytes")
    def remark(self, origin: Origin, remark: bytes) -> None:
        """Put bytes on the chain that mean nothing to it."""

    @call(1, pages="u64")
    def set_heap_pages(self, origin: Origin, pages: int) -> None:
        """Set the number of pages in the WebAssembly environment's heap. Root."""
        origin.ensure_root()
        self.runtime.host.set(HEAP_PAGES, pages.to_bytes(8, "little"))
        self.log("RuntimeEnvironmentUpdated")

    @call(2, code="Bytes")
    def set_code(self, origin: Origin, code: bytes) -> None:
        """Replace the runtime. Root."""
        origin.ensure_root()
        self._check_version(code)
        self._replace_code(code)

    @call(3, code="Bytes")
    def set_code_without_checks(self, origin: Origin, code: bytes) -> None:
        """Replace the runtime, whatever the code is. Root."""
        origin.ensure_root()
        self._replace_code(code)

    @call(4, items="Vec<(Bytes, Bytes)>")
    def set_storage(self, origin: Origin, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Write storage values as they are. Root."""
        origin.ensure_root()
        for key, value in items:
            self.runtime.host.set(key, value)

    @call(5, keys="Vec<Bytes>")
    def kill_storage(self, origin: Origin, keys: Sequence[bytes]) -> None:
        """Remove storage values. Root."""
        origin.ensure_root()
        for key in keys:
            self.runtime.host.delete(key)

    @call(7, remark="Bytes")
    def remark_with_event(self, origin: Origin, remark: bytes) -> None:
        """Put bytes on the chain and their hash into an event."""
        self.deposit(self.Event.Remarked, sender=origin.ensure_signed(), hash=blake2_256(remark))

    def _check_version(self, code: bytes) -> None:
        """Fail unless the new runtime is of this chain, and newer."""
        self.ensure(code.startswith(CODE_PREFIX), self.Error.FailedToExtractRuntimeVersion)
        decoder: Decoder[values.RuntimeVersion] = self.codec("RuntimeVersion")
        try:
            new_version, _ = decoder.decode_from(code, len(CODE_PREFIX))
        except ScaleError:
            self.fail(self.Error.FailedToExtractRuntimeVersion)
        old_version = self.Constant.Version
        self.ensure(new_version.spec_name == old_version.spec_name, self.Error.InvalidSpecName)
        self.ensure(
            new_version.spec_version > old_version.spec_version, self.Error.SpecVersionNeedsToIncrease
        )

    def _replace_code(self, code: bytes) -> None:
        self.runtime.host.set(CODE, code)
        self.log("RuntimeEnvironmentUpdated")
        self.deposit(self.Event.CodeUpdated)

    # The block at hand

    def genesis(self, config: DevGenesis) -> None:
        """Store the first parent hash, the marks of the storage's version, and the runtime's version."""
        self.BlockHash.put(0, bytes(32))
        self.UpgradedToU32RefCount.put(True)
        self.UpgradedToTripleRefCount.put(True)
        self.note_version()

    def note_version(self) -> int | None:
        """Store the version of the current runtime.

        Return the spec version that was stored before, if the runtime has changed; else None.
        """
        version = self.Constant.Version
        present = values.LastRuntimeUpgradeInfo(
            spec_version=version.spec_version, spec_name=version.spec_name
        )
        last_upgrade = self.LastRuntimeUpgrade.get()
        if last_upgrade == present:
            return None
        self.LastRuntimeUpgrade.put(present)
        return None if last_upgrade is None else last_upgrade.spec_version

    def begin_block(self, number: int, parent_hash: bytes, digest: values.Digest) -> None:
        """Clear what belongs to the last block, and store what the header says about this one."""
        for leftover in (self.Events, self.EventCount, self.BlockWeight, self.InherentsApplied):
            leftover.kill()
        self.ExecutionPhase.put("Initialization")
        self.set_extrinsic_index(0)
        self.Number.put(number)
        self.ParentHash.put(parent_hash)
        self.Digest.put(digest)
        self.BlockHash.put(number - 1, parent_hash)

    def set_extrinsic_index(self, index: int | None) -> None:
        """Set the index of the extrinsic that is being applied; None after the last one."""
        if index is None:
            self.runtime.host.delete(EXTRINSIC_INDEX)
        else:
            self.runtime.host.set(EXTRINSIC_INDEX, index.to_bytes(4, "little"))

    def extrinsic_index(self) -> int:
        """Return the index of the extrinsic that is being applied."""
        return int.from_bytes(self.runtime.host.get(EXTRINSIC_INDEX) or bytes(4), "little")

    def log(self, item: values.DigestItem) -> None:
        """Add an item to the header's digest."""
        self.Digest.put(values.Digest([*self.Digest.get().logs, item]))

    def record(self, pallet: PalletStorage, what: EventDef, fields: EventFields) -> None:
        """Append an event, with the current phase. Block 0 has no events."""
        if self.Number.get() == 0:
            return
        value = fields[0] if isinstance(fields, tuple) and len(fields) == 1 else fields
        event = (what.name, value) if what.fields else what.name
        phase = self.ExecutionPhase.get() or "Finalization"
        topics = list[bytes]()
        record = values.EventRecord(phase=phase, event=(pallet.name, event), topics=topics)
        self.runtime.host.append(self.Events.prefix, self._event_codec.encode(record))

    def count_events(self) -> None:
        """Store the number of the block's events, at its end; nothing if it has none."""
        events = self.runtime.host.get(self.Events.prefix)
        if events is not None:
            self.EventCount.put(decode_compact(events, 0)[0])

    # Accounts

    def exists(self, who: bytes) -> bool:
        """Return whether the account exists: something provides for it."""
        account = self.Account.get(who)
        return bool(account.providers or account.sufficients)

    def inc_providers(self, who: bytes) -> None:
        """Count one more provider of the account; the first one creates the account."""
        account = self.Account.get(who)
        created = not (account.providers or account.sufficients)
        self.Account.put(who, replace(account, providers=account.providers + 1))
        if created:
            for pallet in self.runtime.pallets:
                pallet.on_new_account(who)
            self.deposit(self.Event.NewAccount, account=who)

    def dec_providers(self, who: bytes) -> None:
        """Count one provider less; the last one kills the account. Fails with ConsumerRemaining."""
        account = self.Account.get(who)
        providers = max(0, account.providers - 1)
        if providers == 0 and account.sufficients == 0:
            if account.consumers:
                raise DispatchError("ConsumerRemaining")
            self._kill(who)
        else:
            self.Account.put(who, replace(account, providers=providers))

    def inc_consumers(self, who: bytes) -> None:
        """Count one more consumer, which needs the account to stay. Fails with NoProviders."""
        account = self.Account.get(who)
        if not account.providers:
            raise DispatchError("NoProviders")
        self.Account.put(who, replace(account, consumers=account.consumers + 1))

    def dec_consumers(self, who: bytes) -> None:
        """Count one consumer of the account less."""
        self.Account.mutate(who, lambda account: replace(account, consumers=max(0, account.consumers - 1)))

    def consumers(self, who: bytes) -> int:
        """Return the number of consumers, which need the account to stay."""
        return self.Account.get(who).consumers

    def inc_nonce(self, who: bytes) -> None:
        """Count one more extrinsic of the account."""
        self.Account.mutate(who, lambda account: replace(account, nonce=account.nonce + 1))

    def nonce(self, who: bytes) -> int:
        """Return the nonce of the account's next extrinsic."""
        return self.Account.get(who).nonce

    def _kill(self, who: bytes) -> None:
        self.Account.remove(who)
        for pallet in self.runtime.pallets:
            pallet.on_killed_account(who)
        self.deposit(self.Event.KilledAccount, account=who)

    @cached_property
    def _event_codec(self) -> Codec:
        return self.runtime.codec_of("EventRecord<RuntimeEvent, H256>")
