"""The methods that encode and decode vault swaps, which are users' transactions to the vault.

The `broker_*` forms of the rows have the same parameters without the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cfnode.core.addresses import AddressError, EncodedAddress, parse_address
from cfnode.core.assets import ASSETS, CHAINS, AddressForm, chains_of, vault_swap_chains
from cfnode.rpc.cf.method import Arguments, method
from cfnode.rpc.cf.params import BROKER_PARAM
from cfnode.rpc.table.broker_params import (
    AFFILIATES,
    ASSET,
    CCM,
    DCA,
    REFUND,
    RefundParameters,
    read_refund,
)
from cfnode.rpc.table.convert import (
    TEXT,
    U16,
    U32,
    U128_MAX,
    bounded_integer,
    fixed_hex,
    listed,
    read_bool,
    read_hex,
    read_hex_number,
    read_number_or_hex,
)
from cfnode.rpc.table.errors import PROCESSING
from cfnode.rpc.table.rows import Param, Reader
from cfnode.rpc.table.runtime_names import enum_of_chains
from cfnode.rpc.table.serde_types import Member, Read, SerdeStruct, tagged
from cfnode.rpc.table.texts import base58_of, bounded_hex

MAX_INSTRUCTION_ACCOUNTS: Final = 64
MAX_SEED_BYTES: Final = 32
"""Bytes of a seed of an address on Solana, by Solana's rule."""


# Parameters


def _tagged(owner: str, variants: Mapping[str, Any]) -> Read:
    return tagged(owner, "chain", variants)


_EVM: Final = SerdeStruct(
    "struct EvmVaultSwapExtraParameters",
    {"input_amount": (read_number_or_hex, False), "refund_parameters": (read_refund, False)},
)
_EXTRA: Final[Mapping[AddressForm, Any]] = {
    "bitcoin": {
        "min_output_amount": (read_number_or_hex, False),
        "retry_duration": (U32.read, False),
        "max_oracle_price_slippage": (bounded_integer(255), True),
    },
    "solana": {
        "from": (TEXT.read, False),
        "seed": (bounded_hex(MAX_SEED_BYTES), False),
        "input_amount": (read_number_or_hex, False),
        "refund_parameters": (read_refund, False),
        "from_token_account": (TEXT.read, True),
    },
}
_read_extra: Final = enum_of_chains(
    _tagged,
    "VaultSwapExtraParameters",
    {chain: _EXTRA.get(CHAINS[chain].form, _EVM) for chain in vault_swap_chains()},
)
_ACCOUNT: Final = SerdeStruct(
    "struct AccountMeta",
    {"pubkey": (base58_of(32), False), "is_signer": (read_bool, False), "is_writable": (read_bool, False)},
)


def _details(chain: str, address: Read, **members_first: Member) -> SerdeStruct:
    """Return the reader of a call to a contract of an EVM chain."""
    members: dict[str, Member] = {
        **members_first,
        "calldata": (read_hex, False),
        "value": (read_hex_number, False),
        "to": (address, False),
        "source_token_address": (address, True),
    }
    return SerdeStruct(f"struct variant VaultSwapDetails::{chain}", members, is_flat=True)


def _details_on(chain: str) -> Any:
    """Return the reader of the transaction that swaps through the vault of a chain."""
    match CHAINS[chain].form:
        case "bitcoin":
            return {"nulldata_payload": (read_hex, False), "deposit_address": (TEXT.read, False)}
        case "solana":
            return SerdeStruct(
                f"struct variant VaultSwapDetails::{chain}",
                {
                    "program_id": (base58_of(32), False),
                    "accounts": (listed(Reader("account", _ACCOUNT), MAX_INSTRUCTION_ACCOUNTS).read, False),
                    "data": (read_hex, False),
                },
                is_flat=True,
            )
        case "tron":
            return _details(chain, TEXT.read, note=(read_hex, False))
    return _details(chain, fixed_hex(20))


_read_by_chain: Final = enum_of_chains(
    _tagged,
    "VaultSwapDetails",
    {chain: _details_on(chain) for chain in vault_swap_chains()},
)
_INNER: Final = dict.fromkeys(chains_of("evm"), "details") | dict.fromkeys(chains_of("solana"), "instruction")


def _read_details(value: Any) -> tuple[str, Any]:
    """Read an encoded vault swap, as the runtime's `VaultSwapDetails`."""
    chain, details = _read_by_chain(value)
    if chain == "Tron":
        return chain, {"note": details.pop("note"), "details": details}
    return chain, {_INNER[chain]: details} if chain in _INNER else details


# Arguments


def _address(chain: str, text: str) -> EncodedAddress:
    """Parse an address that Chainflip's node parses inside the query.

    Raises RpcError (PROCESSING), which does not name the fault.
    """
    try:
        return parse_address(chain, text)
    except AddressError as error:
        raise PROCESSING from error


def _refund(refund: RefundParameters, chain: str) -> dict[str, Any]:
    return {**refund.others, "refund_address": _address(chain, refund.address)}


def _extra(extra: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
    chain, parameters = extra
    amount = parameters["min_output_amount" if chain == "Bitcoin" else "input_amount"]
    if amount > U128_MAX:  # Chainflip's node converts it to u128 inside the query, with the same error
        raise PROCESSING
    if chain == "Bitcoin":
        return extra
    encodable = {**parameters, "refund_parameters": _refund(parameters["refund_parameters"], chain)}
    if chain == "Solana":
        token_account = parameters["from_token_account"]
        encodable["from"] = _address(chain, parameters["from"])
        encodable["from_token_account"] = None if token_account is None else _address(chain, token_account)
    return chain, encodable


def _shared(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments of both encodings."""
    return {
        "broker": arguments["broker"],
        "source_asset": arguments["source_asset"],
        "destination_asset": arguments["destination_asset"],
        "destination_address": _address(
            ASSETS[arguments["destination_asset"]].chain, arguments["destination_address"]
        ),
        "broker_commission": arguments["broker_commission"],
        "channel_metadata": arguments["channel_metadata"],
        "boost_fee": arguments["boost_fee"] or 0,
        "affiliate_fees": list(arguments["affiliate_fees"] or ()),
        "dca_parameters": arguments["dca_parameters"],
    }


def _encoding(arguments: Arguments) -> Arguments:
    return {**_shared(arguments), "extra_parameters": _extra(arguments["extra_parameters"])}


def _cf_parameters(arguments: Arguments) -> Arguments:
    chain = ASSETS[arguments["source_asset"]].chain
    return {**_shared(arguments), "refund_parameters": _refund(arguments["refund_parameters"], chain)}


_BEFORE: Final = (
    BROKER_PARAM,
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
EXTRA: Final = Reader("{chain, …}", _read_extra)

VAULT_SWAP: Final = Param("vault_swap", Reader("{chain, …}", _read_details))

ENCODE: Final = method(
    "cf_request_swap_parameter_encoding",
    "The transaction that starts a user's vault swap, for a broker.",
    params=(*_BEFORE, Param("extra_parameters", EXTRA), *_AFTER),
    arguments=_encoding,
)
DECODE: Final = method(
    "cf_decode_vault_swap_parameter",
    "The swap that a vault transaction (Bitcoin, Solana) requests.",
    params=(BROKER_PARAM, VAULT_SWAP),
)
CF_PARAMETERS: Final = method(
    "cf_encode_cf_parameters",
    "Only the parameters of a vault swap, as its transaction contains them.",
    params=(*_BEFORE, Param("refund_parameters", REFUND), *_AFTER),
    arguments=_cf_parameters,
    reshape=lambda numbers, arguments: f"0x{bytes(numbers).hex()}",
)
METHODS: Final = (ENCODE, DECODE, CF_PARAMETERS)
