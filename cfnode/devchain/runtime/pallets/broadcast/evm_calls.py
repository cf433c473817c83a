"""How does a call of the runtime's own become a call of a vault contract?

An `‹Chain›Api` value says which call it is, its arguments, what it is bound to, and the signature once there
is one; `core.vault_calls` knows the contract's bytes.
"""

from __future__ import annotations

from typing import Any

from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import (
    ReplayProtection,
    Transfer,
    VaultCall,
    all_batch,
    execute_x_swap_and_call,
    register_redemption,
    set_agg_key,
    transfer_fallback,
)

__all__ = ["calldata", "contract_call", "message_hash", "signature_of", "signed"]


def contract_call(api_call: Any) -> VaultCall:
    """The contract's call, without a signature."""
    kind, builder = api_call
    arguments = builder["call"]
    if kind in ("AllBatch", "RejectCall"):
        return all_batch(
            [(each["channel_id"], each["asset"]) for each in arguments["fetch_deploy_params"]],
            [(each["contract_address"], each["asset"]) for each in arguments["fetch_params"]],
            [_transfer(each) for each in arguments["transfer_params"]],
        )
    if kind == "RegisterRedemption":
        return _redemption(arguments)
    if kind == "SetAggKeyWithAggKey":
        new_key = arguments["new_key"]
        return set_agg_key(new_key.pub_key_x, odd=new_key.pub_key_y_parity == "Odd")
    transfer = _transfer(arguments["transfer_param"])
    if kind == "TransferFallback":
        return transfer_fallback(transfer)
    return execute_x_swap_and_call(
        transfer, arguments["source_chain"], arguments["source_address"], arguments["message"]
    )


def message_hash(api_call: Any) -> bytes:
    """What the aggregate key has to sign."""
    bound = api_call[1]["replay_protection"]
    protection = ReplayProtection(
        bound["nonce"], bound["chain_id"], bound["key_manager_address"], bound["contract_address"]
    )
    return contract_call(api_call).message_hash(protection)


def signed(api_call: Any, key: Any, signature: Signature) -> Any:
    """The call with its signature."""
    kind, builder = api_call
    data = {
        "sig": int.from_bytes(signature.s, "big"),
        "nonce": builder["replay_protection"]["nonce"],
        "k_times_g_address": signature.k_times_g_address,
    }
    return kind, builder | {"signer_and_sig_data": (key, data)}


def signature_of(api_call: Any) -> Signature:
    """The signature of a signed call."""
    _, data = api_call[1]["signer_and_sig_data"]
    return Signature(data["sig"].to_bytes(32, "big"), data["k_times_g_address"])


def calldata(api_call: Any) -> bytes:
    """The transaction's data of a signed call."""
    nonce = api_call[1]["replay_protection"]["nonce"]
    return contract_call(api_call).data(nonce, signature_of(api_call))


def _redemption(arguments: Any) -> VaultCall:
    executor = arguments["executor"]
    return register_redemption(
        arguments["node_id"],
        arguments["amount"],
        arguments["address"],
        arguments["expiry"],
        None if executor == "AnyAddress" else executor[1],
    )


def _transfer(value: Any) -> Transfer:
    return Transfer(value["asset"], value["to"], value["amount"])
