"""Calls that are signed elsewhere: for the Ethereum contracts and for wallets of other chains."""

from __future__ import annotations

from typing import Any, Final

from cfnode.rpc.broker_params import read_u128
from cfnode.rpc.cf.method import Given, method
from cfnode.rpc.cf.params import ADDRESS20, members, one_of
from cfnode.rpc.convert import (
    ACCOUNT,
    BYTES,
    U32,
    Member,
    bounded_integer,
    read_members,
    read_number_or_hex,
    shown,
)
from cfnode.rpc.table import Param, Reader

U32_MAX: Final = 2**32 - 1


def _tag(value: Any, *names: str) -> tuple[str, Any]:
    """An externally tagged enum with a payload: `{"Name": payload}`."""
    if not isinstance(value, dict) or len(value) != 1:
        raise ValueError(f"expected an object with one member of {', '.join(names)}, got {shown(value)}")
    ((name, payload),) = value.items()
    return one_of(*names).read(name), payload


def _some(value: Any, name: str) -> Any:
    """ "Max", or an amount under `name`."""
    if value == "Max":
        return "Max"
    return name, read_u128(read_number_or_hex(_tag(value, name)[1]))


_DELEGATION: Final[dict[str, dict[str, Member]]] = {
    "Delegate": {"operator": (ACCOUNT.read, False), "increase": (lambda v: _some(v, "Some"), False)},
    "Undelegate": {"decrease": (lambda v: _some(v, "Some"), False)},
    "Redeem": {
        "amount": (lambda v: _some(v, "Exact"), False),
        "address": (ADDRESS20.read, False),
        "executor": (ADDRESS20.read, True),
    },
}


def _read_call(value: Any) -> tuple[str, Any]:
    call = members(API=one_of("Delegation").read, call=lambda entry: entry)(value)["call"]
    name, payload = _tag(call, *_DELEGATION)
    return "Delegation", {"call": (name, read_members(payload, _DELEGATION[name]))}


def _read_encoding(value: Any) -> tuple[str, str]:
    kind, form = _tag(value, "Eth", "Sol")
    forms = one_of("PersonalSign", "Eip712") if kind == "Eth" else one_of("Domain")
    return kind, forms.read(form)


def _read_nonce(value: Any) -> tuple[str, Any]:
    if isinstance(value, str):
        return "Account", ACCOUNT.read(value)
    return "Nonce", bounded_integer(U32_MAX)(value)


# EIP-712 typed data


def _eip712(data: dict[str, Any]) -> dict[str, Any]:
    """Typed data as wallets take it."""
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


def _encoded(shown_value: list[Any], given: Given) -> list[Any]:
    call, metadata = shown_value
    return [{"Eip712": _eip712(call["Eip712"])} if "Eip712" in call else call, metadata]


METHODS: Final = (
    method(
        "cf_evm_calldata",
        "The Ethereum transaction with which an account delegates or redeems.",
        params=(Param("caller", ADDRESS20), Param("call", Reader("{API, call}", _read_call))),
    ),
    method(
        "cf_encode_non_native_call",
        "A call in the form in which a wallet of another chain signs it.",
        params=(
            Param("call", BYTES),
            Param("blocks_to_expiry", U32),
            Param("nonce_or_account", Reader("number or SS58 account", _read_nonce)),
            Param("encoding", Reader('{"Eth"} or {"Sol"}', _read_encoding)),
        ),
        bare=True,
        then=_encoded,
    ),
)
