"""Conversion of `EvmApi` calls of the runtime into calls of the EVM contracts.

An `EvmApi` value has the kind of the call, its arguments, its replay protection, and the signature once there
is one; `core.vault_calls` encodes the contract's bytes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cfnode.core.schnorr import Signature
from cfnode.core.vault_calls import (
    ReplayProtection,
    TransferParams,
    VaultCall,
    all_batch,
    execute_x_swap_and_call,
    register_redemption,
    set_agg_key,
    transfer_fallback,
)
from cfnode.devchain.runtime import values

__all__ = ["calldata", "contract_call", "message_hash", "rebuilt", "signature_of", "signed"]


def contract_call(api_call: values.EvmApi) -> VaultCall:
    """Return the contract's call, without a signature."""
    match api_call.value.call:
        case values.AllBatch() as batch:
            return all_batch(
                [(fetch.channel_id, fetch.asset) for fetch in batch.fetch_deploy_params],
                [(fetch.contract_address, fetch.asset) for fetch in batch.fetch_params],
                [_transfer(payment) for payment in batch.transfer_params],
            )
        case values.RegisterRedemption() as redemption:
            return _redemption(redemption)
        case values.SetAggKeyWithAggKey(new_key):
            return set_agg_key(new_key.pub_key_x, odd=new_key.pub_key_y_parity == "Odd")
        case values.TransferFallback(transfer):
            return transfer_fallback(_transfer(transfer))
        case values.ExecutexSwapAndCall() as call:
            payment = _transfer(call.transfer_param)
            return execute_x_swap_and_call(payment, call.source_chain, call.source_address, call.message)
    raise NotImplementedError(f"{type(api_call).__name__} is never made on a development chain")


def message_hash(api_call: values.EvmApi) -> bytes:
    """Return the hash that the aggregate key has to sign."""
    replay = api_call.value.replay_protection
    protection = ReplayProtection(
        replay.nonce, replay.chain_id, replay.key_manager_address, replay.contract_address
    )
    return contract_call(api_call).message_hash(protection)


def signed(api_call: values.EvmApi, key: values.EvmAggKey, signature: Signature) -> values.EvmApi:
    """Return the call with its signature."""
    data = values.SigData(
        sig=int.from_bytes(signature.s, "big"),
        nonce=api_call.value.replay_protection.nonce,
        k_times_g_address=signature.k_times_g_address,
    )
    return rebuilt(api_call, api_call.value.replay_protection, (key, data))


def rebuilt(
    api_call: values.EvmApi,
    protection: values.EvmReplayProtection,
    signature: tuple[values.EvmAggKey, values.SigData] | None,
) -> values.EvmApi:
    """Return the call with this replay protection and signature."""
    builder: Any = api_call.value  # the kind of call stays; the union type cannot express that
    return replace(
        api_call, value=replace(builder, replay_protection=protection, signer_and_sig_data=signature)
    )


def signature_of(api_call: values.EvmApi) -> Signature:
    """Return the signature of a signed call."""
    sig_data = api_call.value.signer_and_sig_data
    assert sig_data is not None
    return Signature(sig_data[1].sig.to_bytes(32, "big"), sig_data[1].k_times_g_address)


def calldata(api_call: values.EvmApi) -> bytes:
    """Return the transaction data of a signed call."""
    nonce = api_call.value.replay_protection.nonce
    return contract_call(api_call).data(nonce, signature_of(api_call))


def _redemption(arguments: values.RegisterRedemption) -> VaultCall:
    executor = arguments.executor
    return register_redemption(
        arguments.node_id,
        arguments.amount,
        arguments.address,
        arguments.expiry,
        None if executor == "AnyAddress" else executor.value,
    )


def _transfer(value: values.EncodableTransferAssetParams) -> TransferParams:
    return TransferParams(value.asset, value.to, value.amount)
