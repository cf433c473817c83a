"""Vault swaps: what a user's transaction to the vault has to carry, and what one carries.

A broker's form of these rows (`broker_*`) has the same parameters without the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cfnode.core.addresses import AddressError, EncodedAddress, parse_address
from cfnode.core.assets import ASSETS
from cfnode.rpc.broker_params import (
    AFFILIATES,
    ASSET,
    CCM,
    DCA,
    REFUND,
    RefundParameters,
    read_refund,
    read_u128,
)
from cfnode.rpc.cf.method import Given, method
from cfnode.rpc.cf.params import BROKER, members, one_of
from cfnode.rpc.convert import (
    TEXT,
    U16,
    U32,
    Member,
    bounded_integer,
    fixed_hex,
    read_bool,
    read_hex_number,
    read_members,
    read_number_or_hex,
    read_whole_bytes,
    shown,
)
from cfnode.rpc.errors import PROCESSING
from cfnode.rpc.table import Param, Reader

MAX_ACCOUNTS: Final = 64
MAX_SEED: Final = 32
"""Bytes of a seed of an address on Solana, by Solana's rule."""


# Parameters


def _amount(value: Any) -> int:
    return read_u128(read_number_or_hex(value))


def _seed(value: Any) -> bytes:
    seed = read_whole_bytes(value)
    if len(seed) > MAX_SEED:
        raise ValueError(f"invalid length {len(seed)}, expected at most {MAX_SEED} bytes")
    return seed


_EVM: Final[dict[str, Member]] = {
    "input_amount": (_amount, False),
    "refund_parameters": (read_refund, False),
}
_EXTRA: Final[dict[str, dict[str, Member]]] = {
    "Bitcoin": {
        "min_output_amount": (_amount, False),
        "retry_duration": (U32.read, False),
        "max_oracle_price_slippage": (bounded_integer(255), True),
    },
    "Ethereum": _EVM,
    "Arbitrum": _EVM,
    "Solana": {
        "from": (TEXT.read, False),
        "seed": (_seed, False),
        "input_amount": (_amount, False),
        "refund_parameters": (read_refund, False),
        "from_token_account": (TEXT.read, True),
    },
    "Tron": _EVM,
    "Bsc": _EVM,
}


def _tagged(value: Any, cases: Mapping[str, dict[str, Member]]) -> tuple[str, dict[str, Any]]:
    """An object whose `chain` says which members it has."""
    if not isinstance(value, dict):
        raise ValueError(f"expected an object, got {shown(value)}")
    if "chain" not in value:
        raise ValueError("missing field `chain`")
    chain = one_of(*cases).read(value["chain"])
    return chain, read_members(value, cases[chain])


def _pubkey(value: Any) -> bytes:
    return parse_address("Solana", TEXT.read(value))[1]


def _account_meta(value: Any) -> Any:
    return members(pubkey=_pubkey, is_signer=read_bool, is_writable=read_bool)(value)


def _account_metas(value: Any) -> list[Any]:
    if not isinstance(value, list) or len(value) > MAX_ACCOUNTS:
        raise ValueError(f"expected an array of at most {MAX_ACCOUNTS} accounts, got {shown(value)}")
    return [_account_meta(entry) for entry in value]


def _calls(address: Any) -> dict[str, Member]:
    return {
        "calldata": (read_whole_bytes, False),
        "value": (read_hex_number, False),
        "to": (address, False),
        "source_token_address": (address, True),
    }


_DETAILS: Final[dict[str, dict[str, Member]]] = {
    "Bitcoin": {"nulldata_payload": (read_whole_bytes, False), "deposit_address": (TEXT.read, False)},
    "Ethereum": _calls(fixed_hex(20)),
    "Arbitrum": _calls(fixed_hex(20)),
    "Bsc": _calls(fixed_hex(20)),
    "Tron": {**_calls(TEXT.read), "note": (read_whole_bytes, False)},
    "Solana": {
        "program_id": (_pubkey, False),
        "accounts": (_account_metas, False),
        "data": (read_whole_bytes, False),
    },
}
_INNER: Final = {"Ethereum": "details", "Arbitrum": "details", "Bsc": "details", "Solana": "instruction"}


def _read_details(value: Any) -> tuple[str, Any]:
    """What the encoding gave, as the runtime's `VaultSwapDetails`."""
    chain, read = _tagged(value, _DETAILS)
    if chain == "Tron":
        return chain, {"note": read.pop("note"), "details": read}
    return chain, {_INNER[chain]: read} if chain in _INNER else read


# Arguments


def _address(chain: str, text: str) -> EncodedAddress:
    """An address where Chainflip's node reads it inside the query, and says nothing of what is wrong."""
    try:
        return parse_address(chain, text)
    except AddressError as error:
        raise PROCESSING from error


def _refund(refund: RefundParameters, chain: str) -> dict[str, Any]:
    return {**refund.others, "refund_address": _address(chain, refund.address)}


def _extra(extra: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    chain, given = extra
    if chain == "Bitcoin":
        return extra
    ready = {**given, "refund_parameters": _refund(given["refund_parameters"], chain)}
    if chain == "Solana":
        token_account = given["from_token_account"]
        ready["from"] = _address(chain, given["from"])
        ready["from_token_account"] = None if token_account is None else _address(chain, token_account)
    return chain, ready


def _shared(given: Given) -> dict[str, Any]:
    """What both encodings take."""
    return {
        "broker": given["broker"],
        "source_asset": given["source_asset"],
        "destination_asset": given["destination_asset"],
        "destination_address": _address(
            ASSETS[given["destination_asset"]].chain, given["destination_address"]
        ),
        "broker_commission": given["broker_commission"],
        "channel_metadata": given["channel_metadata"],
        "boost_fee": given["boost_fee"] or 0,
        "affiliate_fees": list(given["affiliate_fees"] or ()),
        "dca_parameters": given["dca_parameters"],
    }


def _encoding(given: Given) -> Given:
    return {**_shared(given), "extra_parameters": _extra(given["extra_parameters"])}


def _cf_parameters(given: Given) -> Given:
    chain = ASSETS[given["source_asset"]].chain
    return {**_shared(given), "refund_parameters": _refund(given["refund_parameters"], chain)}


_BEFORE: Final = (
    BROKER,
    Param("source_asset", ASSET),
    Param("destination_asset", ASSET),
    Param("destination_address", TEXT),
    Param("broker_commission", U16),
)
_AFTER: Final = (
    Param("channel_metadata", CCM, optional=True),
    Param("boost_fee", U16, optional=True),
    Param("affiliate_fees", AFFILIATES, optional=True),
    Param("dca_parameters", DCA, optional=True),
)
_EXTRA_READER: Final = Reader("{chain, …}", lambda value: _tagged(value, _EXTRA))

VAULT_SWAP: Final = Param("vault_swap", Reader("{chain, …}", _read_details))

ENCODE: Final = method(
    "cf_request_swap_parameter_encoding",
    "The transaction with which a user swaps by way of the vault, for a broker.",
    params=(*_BEFORE, Param("extra_parameters", _EXTRA_READER), *_AFTER),
    arguments=_encoding,
)
DECODE: Final = method(
    "cf_decode_vault_swap_parameter",
    "The swap that a vault transaction (Bitcoin, Solana) asks for.",
    params=(BROKER, VAULT_SWAP),
)
CF_PARAMETERS: Final = method(
    "cf_encode_cf_parameters",
    "The parameters of a vault swap alone, as its transaction carries them.",
    params=(*_BEFORE, Param("refund_parameters", REFUND), *_AFTER),
    arguments=_cf_parameters,
    then=lambda numbers, given: f"0x{bytes(numbers).hex()}",
)
METHODS: Final = (ENCODE, DECODE, CF_PARAMETERS)
