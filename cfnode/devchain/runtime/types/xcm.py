"""Types of XCM (versions 3, 4 and 5), and of the calls of Assethub's PolkadotXcm pallet.

A message to Assethub has to be such a call. The three versions differ little, so each is declared from one
text in which a bare name means that version's own type. Programs contain programs (`Xcm` inside
`Instruction`), which the chain's metadata leaves out; here they are in full, because these types serve to
decode and are part of no metadata.
"""

from __future__ import annotations

import re

from cfnode.devchain.runtime.frame.types import enum, struct

_VERSIONS = ("v3", "v4", "v5")
_OWN = re.compile(
    r"\b(Location|Junctions|Junction|NetworkId|Assets|Asset|AssetId|Fungibility|AssetInstance|Xcm|Instruction"
    r"|Response|PalletInfo|QueryResponseInfo|AssetFilter|WildAsset|Error|AssetTransferFilter|Hint)\b"
)


def _own(version: str, text: str) -> str:
    """Replace the bare names in a text by the version's own types."""
    return _OWN.sub(lambda match: f"xcm_{version}_{match[0]}", text)


def _struct(version: str, name: str, *unnamed: str, **named: str) -> None:
    fields = {field: _own(version, text) for field, text in named.items()}
    items = (_own(version, text) for text in unnamed)
    struct(f"xcm::{version}::{name}", *items, name=f"xcm_{version}_{name}", **fields)


def _enum(version: str, name: str, variants: dict[int, str]) -> None:
    """Declare an enum of a version.

    A variant may have the name of a type: only the text behind its name is replaced.
    """
    texts = {}
    for index, text in variants.items():
        start = re.search(r"[({]|$", text).start()  # type: ignore[union-attr]
        texts[index] = text[:start] + _own(version, text[start:])
    enum(f"xcm::{version}::{name}", texts, name=f"xcm_{version}_{name}")


def _count(*variants: str) -> dict[int, str]:
    return dict(enumerate(variants))


enum(
    "xcm::BodyId",
    "Unit",
    "Moniker([u8; 4])",
    "Index(Compact<u32>)",
    "Executive",
    "Technical",
    "Legislative",
    "Judicial",
    "Defense",
    "Administration",
    "Treasury",
    name="xcm_BodyId",
)
_FRACTION = "{nom: Compact<u32>, denom: Compact<u32>}"
enum(
    "xcm::BodyPart",
    "Voice",
    "Members{count: Compact<u32>}",
    f"Fraction{_FRACTION}",
    f"AtLeastProportion{_FRACTION}",
    f"MoreThanProportion{_FRACTION}",
    name="xcm_BodyPart",
)
enum("xcm::OriginKind", "Native", "SovereignAccount", "Superuser", "Xcm", name="xcm_OriginKind")
enum("xcm::MaybeErrorCode", "Success", "Error(Bytes)", "TruncatedError(Bytes)", name="xcm_MaybeErrorCode")
enum("xcm::WeightLimit", "Unlimited", "Limited(Weight)", name="xcm_WeightLimit")
enum("xcm::WildFungibility", "Fungible", "NonFungible", name="xcm_WildFungibility")

_NETWORKS = {
    0: "ByGenesis([u8; 32])",
    1: "ByFork{block_number: u64, block_hash: [u8; 32]}",
    2: "Polkadot",
    3: "Kusama",
    7: "Ethereum{chain_id: Compact<u64>}",
    8: "BitcoinCore",
    9: "BitcoinCash",
    10: "PolkadotBulletin",
}
_OLD_NETWORKS = {4: "Westend", 5: "Rococo", 6: "Wococo"}
_JUNCTIONS = _count(
    "Parachain(Compact<u32>)",
    "AccountId32{network: Option<NetworkId>, id: [u8; 32]}",
    "AccountIndex64{network: Option<NetworkId>, index: Compact<u64>}",
    "AccountKey20{network: Option<NetworkId>, key: [u8; 20]}",
    "PalletInstance(u8)",
    "GeneralIndex(Compact<u128>)",
    "GeneralKey{length: u8, data: [u8; 32]}",
    "OnlyChild",
    "Plurality{id: xcm_BodyId, part: xcm_BodyPart}",
    "GlobalConsensus(NetworkId)",
)
_INSTANCES = _count(
    "Undefined",
    "Index(Compact<u128>)",
    "Array4([u8; 4])",
    "Array8([u8; 8])",
    "Array16([u8; 16])",
    "Array32([u8; 32])",
)
_FAILURES = [
    "Overflow",
    "Unimplemented",
    "UntrustedReserveLocation",
    "UntrustedTeleportLocation",
    "LocationFull",
    "LocationNotInvertible",
    "BadOrigin",
    "InvalidLocation",
    "AssetNotFound",
    "FailedToTransactAsset",
    "NotWithdrawable",
    "LocationCannotHold",
    "ExceedsMaxMessageSize",
    "DestinationUnsupported",
    "Transport",
    "Unroutable",
    "UnknownClaim",
    "FailedToDecode",
    "MaxWeightInvalid",
    "NotHoldingFees",
    "TooExpensive",
    "Trap(u64)",
    "ExpectationFalse",
    "PalletNotFound",
    "NameMismatch",
    "VersionIncompatible",
    "HoldingWouldOverflow",
    "ExportError",
    "ReanchorFailed",
    "NoDeal",
    "FeesNotMet",
    "LockError",
    "NoPermission",
    "Unanchored",
    "NotDepositable",
]
_LATE_FAILURES = [
    "UnhandledXcmVersion",
    "WeightLimitReached(Weight)",
    "Barrier",
    "WeightNotComputable",
    "ExceedsStackLimit",
]
_RESPONSES = _count(
    "Null",
    "Assets(Assets)",
    "ExecutionResult(Option<(u32, Error)>)",
    "Version(u32)",
    "PalletsInfo(Vec<PalletInfo>)",
    "DispatchResult(xcm_MaybeErrorCode)",
)
_INSTRUCTIONS = _count(
    "WithdrawAsset(Assets)",
    "ReserveAssetDeposited(Assets)",
    "ReceiveTeleportedAsset(Assets)",
    "QueryResponse{query_id: Compact<u64>, response: Response, max_weight: Weight,"
    " querier: Option<Location>}",
    "TransferAsset{assets: Assets, beneficiary: Location}",
    "TransferReserveAsset{assets: Assets, dest: Location, xcm: Xcm}",
    "Transact{origin_kind: xcm_OriginKind, require_weight_at_most: Weight, call: Bytes}",
    "HrmpNewChannelOpenRequest{sender: Compact<u32>, max_message_size: Compact<u32>,"
    " max_capacity: Compact<u32>}",
    "HrmpChannelAccepted{recipient: Compact<u32>}",
    "HrmpChannelClosing{initiator: Compact<u32>, sender: Compact<u32>, recipient: Compact<u32>}",
    "ClearOrigin",
    "DescendOrigin(Junctions)",
    "ReportError(QueryResponseInfo)",
    "DepositAsset{assets: AssetFilter, beneficiary: Location}",
    "DepositReserveAsset{assets: AssetFilter, dest: Location, xcm: Xcm}",
    "ExchangeAsset{give: AssetFilter, want: Assets, maximal: bool}",
    "InitiateReserveWithdraw{assets: AssetFilter, reserve: Location, xcm: Xcm}",
    "InitiateTeleport{assets: AssetFilter, dest: Location, xcm: Xcm}",
    "ReportHolding{response_info: QueryResponseInfo, assets: AssetFilter}",
    "BuyExecution{fees: Asset, weight_limit: xcm_WeightLimit}",
    "RefundSurplus",
    "SetErrorHandler(Xcm)",
    "SetAppendix(Xcm)",
    "ClearError",
    "ClaimAsset{assets: Assets, ticket: Location}",
    "Trap(Compact<u64>)",
    "SubscribeVersion{query_id: Compact<u64>, max_response_weight: Weight}",
    "UnsubscribeVersion",
    "BurnAsset(Assets)",
    "ExpectAsset(Assets)",
    "ExpectOrigin(Option<Location>)",
    "ExpectError(Option<(u32, Error)>)",
    "ExpectTransactStatus(xcm_MaybeErrorCode)",
    "QueryPallet{module_name: Bytes, response_info: QueryResponseInfo}",
    "ExpectPallet{index: Compact<u32>, name: Bytes, module_name: Bytes, crate_major: Compact<u32>,"
    " min_crate_minor: Compact<u32>}",
    "ReportTransactStatus(QueryResponseInfo)",
    "ClearTransactStatus",
    "UniversalOrigin(Junction)",
    "ExportMessage{network: NetworkId, destination: Junctions, xcm: Xcm}",
    "LockAsset{asset: Asset, unlocker: Location}",
    "UnlockAsset{asset: Asset, target: Location}",
    "NoteUnlockable{asset: Asset, owner: Location}",
    "RequestUnlock{asset: Asset, locker: Location}",
    "SetFeesMode{jit_withdraw: bool}",
    "SetTopic([u8; 32])",
    "ClearTopic",
    "AliasOrigin(Location)",
    "UnpaidExecution{weight_limit: xcm_WeightLimit, check_origin: Option<Location>}",
)
_INSTRUCTIONS_OF_V5 = {
    6: "Transact{origin_kind: xcm_OriginKind, fallback_max_weight: Option<Weight>, call: Bytes}",
    48: "PayFees{asset: Asset}",
    49: "InitiateTransfer{destination: Location, remote_fees: Option<AssetTransferFilter>,"
    " preserve_origin: bool, assets: Vec<AssetTransferFilter>, remote_xcm: Xcm}",
    50: "ExecuteWithOrigin{descendant_origin: Option<Junctions>, xcm: Xcm}",
    51: "SetHints{hints: Vec<Hint>}",
}


def _declare(version: str) -> None:
    networks = _NETWORKS if version == "v5" else _NETWORKS | _OLD_NETWORKS
    _enum(version, "NetworkId", networks)
    _enum(version, "Junction", _JUNCTIONS)
    junctions = {
        n: ", ".join(["Junction"] * n) if version == "v3" else f"[Junction; {n}]" for n in range(1, 9)
    }
    _enum(version, "Junctions", {0: "Here"} | {n: f"X{n}({text})" for n, text in junctions.items()})
    _struct(version, "Location", parents="u8", interior="Junctions")
    _enum(version, "AssetInstance", _INSTANCES)
    _enum(version, "Fungibility", _count("Fungible(Compact<u128>)", "NonFungible(AssetInstance)"))
    if version == "v3":
        _enum(version, "AssetId", _count("Concrete(Location)", "Abstract([u8; 32])"))
    else:
        _struct(version, "AssetId", "Location")
    _struct(version, "Asset", id="AssetId", fun="Fungibility")
    _struct(version, "Assets", "Vec<Asset>")
    fields = "{id: AssetId, fun: xcm_WildFungibility"
    variants = _count(
        "All", f"AllOf{fields}}}", "AllCounted(Compact<u32>)", f"AllOfCounted{fields}, count: Compact<u32>}}"
    )
    _enum(version, "WildAsset", variants)
    _enum(version, "AssetFilter", _count("Definite(Assets)", "Wild(WildAsset)"))
    _declare_programs(version)


def _declare_programs(version: str) -> None:
    middle_failures = ["TooManyAssets"] if version == "v5" else []
    _enum(version, "Error", _count(*_FAILURES, *middle_failures, *_LATE_FAILURES))
    numbers = dict.fromkeys(("major", "minor", "patch"), "Compact<u32>")
    _struct(version, "PalletInfo", index="Compact<u32>", name_="Bytes", module_name="Bytes", **numbers)
    _enum(version, "Response", _RESPONSES)
    response_fields = {"destination": "Location", "query_id": "Compact<u64>", "max_weight": "Weight"}
    _struct(version, "QueryResponseInfo", **response_fields)
    filters = ("Teleport(AssetFilter)", "ReserveDeposit(AssetFilter)", "ReserveWithdraw(AssetFilter)")
    _enum(version, "AssetTransferFilter", _count(*filters))
    _enum(version, "Hint", _count("AssetClaimer{location: Location}"))
    own_instructions = _INSTRUCTIONS_OF_V5 if version == "v5" else {}
    _enum(version, "Instruction", _INSTRUCTIONS | own_instructions)
    _struct(version, "Xcm", "Vec<Instruction>")


def _versioned(name: str) -> dict[int, str]:
    return {int(version[1:]): f"{version.upper()}(xcm_{version}_{name})" for version in _VERSIONS}


for _version in _VERSIONS:
    _declare(_version)
for _name in ("Location", "Assets", "AssetId", "Xcm"):
    enum(f"xcm::Versioned{_name}", _versioned(_name), name=f"xcm_Versioned{_name}")
enum(
    "cf_chains::hub::api::TransferType",
    "Teleport",
    "LocalReserve",
    "DestinationReserve",
    "RemoteReserve(xcm_VersionedLocation)",
)
_TRANSFER = (
    "{dest: xcm_VersionedLocation, beneficiary: xcm_VersionedLocation, assets: xcm_VersionedAssets,"
    " fee_asset_item: u32"
)
enum(
    "cf_chains::hub::XcmCall",
    {
        1: f"teleport_assets{_TRANSFER}}}",
        2: f"reserve_transfer_assets{_TRANSFER}}}",
        8: f"limited_reserve_transfer_assets{_TRANSFER}, weight_limit: xcm_WeightLimit}}",
        9: f"limited_teleport_assets{_TRANSFER}, weight_limit: xcm_WeightLimit}}",
        11: f"transfer_assets{_TRANSFER}, weight_limit: xcm_WeightLimit}}",
        13: "transfer_assets_using_type_and_then{dest: xcm_VersionedLocation, assets: xcm_VersionedAssets,"
        " assets_transfer_type: TransferType, remote_fees_id: xcm_VersionedAssetId,"
        " fees_transfer_type: TransferType, custom_xcm_on_dest: xcm_VersionedXcm,"
        " weight_limit: xcm_WeightLimit}",
    },
)
