"""Types of calls signed by wallets of other chains, and of their EIP-712 form (runtime 2.2)."""

from __future__ import annotations

from cfnode.devchain.runtime.frame.types import enum, struct

from . import addresses, deposits  # noqa: F401  (the declarations below name theirs)

_CALLS = "pallet_cf_environment::submit_runtime_call"
_EIP712 = "ethereum_eip712::eip712"
_VALUES = "ethereum_eip712::minimized_scale_value"
_API = "state_chain_runtime::runtime_apis::custom_api::types"

struct(f"{_CALLS}::TransactionMetadata", nonce="u32", expiry_block="u32")
struct(f"{_CALLS}::ChainflipExtrinsic<C>", call="C", transaction_metadata="TransactionMetadata")
enum(f"{_CALLS}::SolEncodingType", "Domain")
enum(f"{_CALLS}::EthEncodingType", "PersonalSign", "Eip712")
enum(
    f"{_CALLS}::SignatureData",
    "Solana{signature: sol::Signature, signer: Address, sig_type: SolEncodingType}",
    "Ethereum{signature: [u8; 65], signer: H160, sig_type: EthEncodingType}",
)

# Arguments and results of the runtime API.
enum(f"{_API}::NonceOrAccount", "Nonce(u32)", "Account(AccountId32)")
enum(f"{_API}::EncodingType", "Eth(EthEncodingType)", "Sol(SolEncodingType)")
enum(f"{_API}::EncodedNonNativeCallGeneric<T>", "Eip712(T)", "String(str)")
struct(
    f"{_EIP712}::EIP712Domain",
    name_="Option<str>",
    version="Option<str>",
    chain_id="Option<U256>",
    verifying_contract="Option<H160>",
    salt="Option<[u8; 32]>",
)
struct(f"{_EIP712}::Eip712DomainType", name_="str", **{"r#type": "str"})
struct(
    f"{_EIP712}::TypedData",
    domain="EIP712Domain",
    types="BTreeMap<str, Vec<Eip712DomainType>>",
    primary_type="str",
    message="MinimizedScaleValue",
)
enum(
    f"{_VALUES}::MinimizedScaleValue",
    "NamedStruct(Vec<(str, MinimizedScaleValue)>)",
    "Sequence(Vec<MinimizedScaleValue>)",
    "Primitive(MinimizedPrimitive)",
)
enum(f"{_VALUES}::MinimizedPrimitive", "Bool(bool)", "Char(u8)", "String(str)", "U128(u128)", "I128(i128)")
