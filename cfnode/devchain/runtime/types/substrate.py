"""Substrate's own types: blocks, errors, transactions and keys, from the metadata of runtime 2.2."""

from __future__ import annotations

from cfnode.devchain.runtime.frame.types import enum, struct

# frame_system, sp_runtime: blocks, digests, accounts, events
struct("Cow<T>", "T")
struct("sp_weights::weight_v2::Weight", ref_time="Compact<u64>", proof_size="Compact<u64>")
struct("sp_weights::RuntimeDbWeight", read="u64", write="u64")
struct("frame_support::dispatch::PerDispatchClass<T>", normal="T", operational="T", mandatory="T")
enum("frame_support::dispatch::DispatchClass", "Normal", "Operational", "Mandatory")
enum("frame_support::dispatch::Pays", "Yes", "No")
struct("frame_support::dispatch::PostDispatchInfo", actual_weight="Option<Weight>", pays_fee="Pays")
struct("frame_system::DispatchEventInfo", weight="Weight", class_="DispatchClass", pays_fee="Pays")
struct(
    "frame_system::AccountInfo<Nonce, AccountData>",
    nonce="Nonce",
    consumers="u32",
    providers="u32",
    sufficients="u32",
    data="AccountData",
)
enum(
    "sp_runtime::generic::digest::DigestItem",
    {
        6: "PreRuntime([u8; 4], Bytes)",
        4: "Consensus([u8; 4], Bytes)",
        5: "Seal([u8; 4], Bytes)",
        0: "Other(Bytes)",
        8: "RuntimeEnvironmentUpdated",
    },
)
struct("sp_runtime::generic::digest::Digest", logs="Vec<DigestItem>", name="generic::Digest")
struct(
    "sp_runtime::generic::header::Header<Number>",
    parent_hash="H256",
    number="Compact<Number>",
    state_root="H256",
    extrinsics_root="H256",
    digest="generic::Digest",
)
struct("sp_runtime::generic::block::Block<Header, Extrinsic>", header="Header", extrinsics="Vec<Extrinsic>")
struct(
    "sp_runtime::generic::unchecked_extrinsic::UncheckedExtrinsic<Address, Call, Signature, Extra>", "Bytes"
)
enum("frame_system::Phase", "ApplyExtrinsic(u32)", "Finalization", "Initialization")
struct("frame_system::EventRecord<E, T>", phase="Phase", event="E", topics="Vec<T>")
struct(
    "frame_system::LastRuntimeUpgradeInfo",
    spec_version="Compact<u32>",
    spec_name="Cow<str>",
)
struct("frame_system::CodeUpgradeAuthorization", code_hash="H256", check_version="bool")
struct(
    "frame_system::limits::WeightsPerClass",
    base_extrinsic="Weight",
    max_extrinsic="Option<Weight>",
    max_total="Option<Weight>",
    reserved="Option<Weight>",
)
struct(
    "frame_system::limits::BlockWeights",
    base_block="Weight",
    max_block="Weight",
    per_class="PerDispatchClass<WeightsPerClass>",
)
struct("frame_system::limits::BlockLength", max="PerDispatchClass<u32>")
struct(
    "sp_version::RuntimeVersion",
    spec_name="Cow<str>",
    impl_name="Cow<str>",
    authoring_version="u32",
    spec_version="u32",
    impl_version="u32",
    apis="Cow<Vec<([u8; 8], u32)>>",
    transaction_version="u32",
    system_version="u8",
)

# sp_runtime: errors of calls and transactions
struct("sp_runtime::ModuleError", index="u8", error="[u8; 4]")
enum(
    "sp_runtime::TokenError",
    "FundsUnavailable",
    "OnlyProvider",
    "BelowMinimum",
    "CannotCreate",
    "UnknownAsset",
    "Frozen",
    "Unsupported",
    "CannotCreateHold",
    "NotExpendable",
    "Blocked",
)
enum("sp_arithmetic::ArithmeticError", "Underflow", "Overflow", "DivisionByZero")
enum("sp_runtime::TransactionalError", "LimitReached", "NoLayer")
enum(
    "sp_runtime::proving_trie::TrieError",
    "InvalidStateRoot",
    "IncompleteDatabase",
    "ValueAtIncompleteKey",
    "DecoderError",
    "InvalidHash",
    "DuplicateKey",
    "ExtraneousNode",
    "ExtraneousValue",
    "ExtraneousHashReference",
    "InvalidChildReference",
    "ValueMismatch",
    "IncompleteProof",
    "RootMismatch",
    "DecodeError",
)
enum(
    "sp_runtime::DispatchError",
    "Other",
    "CannotLookup",
    "BadOrigin",
    "Module(ModuleError)",
    "ConsumerRemaining",
    "NoProviders",
    "TooManyConsumers",
    "Token(TokenError)",
    "Arithmetic(ArithmeticError)",
    "Transactional(TransactionalError)",
    "Exhausted",
    "Corruption",
    "Unavailable",
    "RootNotAllowed",
    "Trie(TrieError)",
)
struct("sp_runtime::DispatchErrorWithPostInfo<Info>", post_info="Info", error="DispatchError")
enum(
    "sp_runtime::transaction_validity::InvalidTransaction",
    "Call",
    "Payment",
    "Future",
    "Stale",
    "BadProof",
    "AncientBirthBlock",
    "ExhaustsResources",
    "Custom(u8)",
    "BadMandatory",
    "MandatoryValidation",
    "BadSigner",
    "IndeterminateImplicit",
    "UnknownOrigin",
)
enum(
    "sp_runtime::transaction_validity::UnknownTransaction",
    "CannotLookup",
    "NoUnsignedValidator",
    "Custom(u8)",
)
enum(
    "sp_runtime::transaction_validity::TransactionValidityError",
    "Invalid(InvalidTransaction)",
    "Unknown(UnknownTransaction)",
)
enum("sp_runtime::transaction_validity::TransactionSource", "InBlock", "Local", "External")
struct(
    "sp_runtime::transaction_validity::ValidTransaction",
    priority="u64",
    requires="Vec<Bytes>",
    provides="Vec<Bytes>",
    longevity="u64",
    propagate="bool",
)
enum("sp_runtime::ExtrinsicInclusionMode", "AllExtrinsics", "OnlyInherents")

# Addresses, signatures, keys
enum(
    "sp_runtime::multiaddress::MultiAddress<AccountId, AccountIndex>",
    "Id(AccountId)",
    "Index(Compact<AccountIndex>)",
    "Raw(Bytes)",
    "Address32([u8; 32])",
    "Address20([u8; 20])",
)
enum("sp_runtime::MultiSignature", "Ed25519([u8; 64])", "Sr25519([u8; 64])", "Ecdsa([u8; 65])")
struct("sp_consensus_aura::sr25519::app_sr25519::Public", "[u8; 32]", name="aura::Public")
struct("sp_consensus_grandpa::app::Public", "[u8; 32]", name="grandpa::Public")
struct("sp_consensus_grandpa::app::Signature", "[u8; 64]", name="grandpa::Signature")
struct("state_chain_runtime::opaque::SessionKeys", aura="aura::Public", grandpa="grandpa::Public")
struct("sp_core::crypto::KeyTypeId", "[u8; 4]")
struct("sp_staking::offence::OffenceSeverity", "Perbill")
struct("sp_consensus_slots::Slot", "u64")
struct("sp_consensus_slots::SlotDuration", "u64")

# Arguments and results of runtime APIs
struct("sp_core::OpaqueMetadata", "Bytes")
struct("sp_runtime::OpaqueValue", "Bytes")
struct("sp_inherents::InherentData", data="BTreeMap<[u8; 8], Bytes>")
struct("sp_inherents::CheckInherentsResult", okay="bool", fatal_error="bool", errors="InherentData")
struct(
    "pallet_transaction_payment::types::RuntimeDispatchInfo<Balance, Weight>",
    weight="Weight",
    class_="DispatchClass",
    partial_fee="Balance",
)
struct(
    "pallet_transaction_payment::types::InclusionFee<Balance>",
    base_fee="Balance",
    len_fee="Balance",
    adjusted_weight_fee="Balance",
)
struct(
    "pallet_transaction_payment::types::FeeDetails<Balance>",
    inclusion_fee="Option<InclusionFee<Balance>>",
    tip="Balance",
)

# The transaction extensions' own data
enum("sp_runtime::generic::era::Era", "Immortal", *(f"Mortal{index}(u8)" for index in range(1, 256)))
enum("frame_metadata_hash_extension::Mode", "Disabled", "Enabled")
