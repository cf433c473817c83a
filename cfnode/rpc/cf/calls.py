"""The `cf_*` methods that encode calls for Ethereum contracts and for wallets of other chains."""

from __future__ import annotations

from typing import Any, Final

from cfnode.core.jsonrpc import ErrorCode, RpcError
from cfnode.rpc.cf.method import Arguments, method
from cfnode.rpc.cf.params import ADDRESS20, one_of
from cfnode.rpc.table.convert import (
    ACCOUNT,
    BYTES,
    U32,
    U128_MAX,
    read_number_or_hex,
)
from cfnode.rpc.table.rows import Param, Reader
from cfnode.rpc.table.serde_types import enum, tagged, untagged

_ADDRESS: Final = ADDRESS20.read
_DELEGATION: Final = enum(
    "DelegationApi",
    {
        "Delegate": {
            "operator": (ACCOUNT.read, False),
            "increase": (enum("DelegationAmount", {"Max": None, "Some": read_number_or_hex}), False),
        },
        "Undelegate": {
            "decrease": (enum("DelegationAmount", {"Max": None, "Some": read_number_or_hex}), False),
        },
        "Redeem": {
            "amount": (enum("RedemptionAmount", {"Max": None, "Exact": read_number_or_hex}), False),
            "address": (_ADDRESS, False),
            "executor": (_ADDRESS, True),
        },
    },
)
CONTRACT_CALL: Final = Reader(
    "{API, call}", tagged("EthereumSCApi", "API", {"Delegation": {"call": (_DELEGATION, False)}})
)
ENCODING: Final = Reader(
    '{"Eth"} or {"Sol"}',
    enum(
        "EncodingType",
        {"Eth": one_of("PersonalSign", "Eip712").read, "Sol": one_of("Domain").read},
    ),
)
NONCE: Final = Reader(
    "number or SS58 account",
    untagged(
        "data did not match any variant of untagged enum NonceOrAccount",
        lambda value: ("Nonce", U32.read(value)),
        lambda value: ("Account", ACCOUNT.read(value)),
    ),
)


def _within_chain(arguments: Arguments) -> Arguments:
    """Return the arguments unchanged.

    Raises RpcError for an amount that does not fit into the chain's u128.
    """
    _, terms = arguments["call"][1]["call"]
    for amount in terms.values():
        if isinstance(amount, tuple) and amount[1] > U128_MAX:
            text = "Failed to convert call parameters: integer overflow when casting to u128."
            raise RpcError(ErrorCode.INVALID_PARAMS, text)
    return arguments


# EIP-712 typed data


def _eip712(data: dict[str, Any]) -> dict[str, Any]:
    """Return typed data as wallets take it."""
    domain = {"chain_id": "chainId", "verifying_contract": "verifyingContract"}
    return {
        "domain": {
            domain.get(name, name): entry for name, entry in data["domain"].items() if entry is not None
        },
        "types": {
            name: [{"name": field["name"], "type": field["r#type"]} for field in fields]
            for name, fields in data["types"].items()
        },
        "primaryType": data["primary_type"],
        "message": _message(data["message"]),
    }


def _message(value: dict[str, Any]) -> Any:
    ((kind, payload),) = value.items()
    if kind == "NamedStruct":
        return {name: _message(entry) for name, entry in payload}
    if kind == "Sequence":
        return [_message(entry) for entry in payload]
    ((primitive, plain),) = payload.items()
    return str(plain) if primitive in ("U128", "I128") else plain


def _encoded(result: list[Any], arguments: Arguments) -> list[Any]:
    call, metadata = result
    return [{"Eip712": _eip712(call["Eip712"])} if "Eip712" in call else call, metadata]


METHODS: Final = (
    method(
        "cf_evm_calldata",
        "The Ethereum transaction with which an account delegates or redeems.",
        params=(Param("caller", ADDRESS20), Param("call", CONTRACT_CALL)),
        arguments=_within_chain,
    ),
    method(
        "cf_encode_non_native_call",
        "A call in the format that a wallet of another chain signs.",
        params=(
            Param("call", BYTES),
            Param("blocks_to_expiry", U32),
            Param("nonce_or_account", NONCE),
            Param("encoding", ENCODING),
        ),
        plain_numbers=True,
        reshape=_encoded,
    ),
)
