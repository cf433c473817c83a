"""Description of a failed call as text and JSON, and its formats for wallets."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from cfnode.core.vault_calls import TransferParams
from cfnode.sdk.assets import units
from cfnode.sdk.recovery.offered_call import FailedCall
from cfnode.sdk.recovery.payload import Payload, address_text
from cfnode.sdk.recovery.tokens import amount_text, asset_of
from cfnode.sdk.recovery.transaction import UnsignedTransaction
from cfnode.swaps.checksums import checksum_address

__all__ = ["bare_call", "bare_gas", "candidate", "described", "explained", "for_tron", "summary", "underway"]
__all__ += ["subject", "unlisted", "unsigned", "wallet_fields"]

_GWEI = 9


def summary(failed: FailedCall) -> list[tuple[str, str]]:
    """Return amount, receiver, deadline, and the other receivers, as names and values.

    A whole batch has all its receivers, each with its amount. A value is empty if there is none.
    """
    payload = failed.payload
    if payload.is_whole_batch:
        return [
            ("pays", f"{_receivers(payload)} on {payload.chain}"),
            ("to", "\n".join(f"{part.recipient_text}: {amount_text(part)}" for part in payload.parts)),
            ("until", _deadline(failed)),
        ]
    others = (replace(payload, transfer=transfer) for transfer in _other_transfers(payload))
    return [
        ("pays", f"{amount_text(payload)} on {payload.chain}"),
        ("to", payload.recipient_text),
        ("until", _deadline(failed)),
        ("also pays", "\n".join(f"{amount_text(other)} to {other.recipient_text}" for other in others)),
        ("message", "" if payload.message is None else f"{len(payload.message)} bytes, for the receiver"),
    ]


def _receivers(payload: Payload) -> str:
    """Return the number of a whole batch's transfers as text."""
    return f"{len(payload.transfers)} transfers"


def subject(payload: Payload) -> str:
    """Return what a call pays, and to whom, as text; the number of transfers for a whole batch."""
    if payload.is_whole_batch:
        return f"the batch of {_receivers(payload)}"
    return f"{amount_text(payload)} to {payload.recipient_text}"


def _deadline(failed: FailedCall) -> str:
    """Return when a call expires, and how long that is from now; in words if the time is unknown."""
    if failed.deadline_ms is None:
        return "" if failed.payload.is_offered else "the vault gets the next epoch's key"
    time_left = _span(failed.deadline_ms - failed.read_at_ms)
    return f"about {_time(failed.deadline_ms):%Y-%m-%d %H:%M} UTC, {time_left}{_clock(failed)}"


def _clock(failed: FailedCall) -> str:
    """Name the clock of a development chain, which differs from the real one."""
    return ", chain time" if failed.is_own_clock else ""


def _span(milliseconds: int) -> str:
    """Return a time from now, in days and hours, or in minutes."""
    minutes = max(milliseconds, 0) // 60_000
    days, hours = minutes // 1_440, minutes % 1_440 // 60
    units_of_time = ((days, "day"), (hours, "hour")) if minutes >= 60 else ((minutes, "minute"),)
    words = [f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in units_of_time if count]
    return f"in {' and '.join(words)}" if words else "in less than a minute"


def explained(failed: FailedCall) -> list[str]:
    """Return sentences that describe the payload."""
    payload = failed.payload
    pays = _receivers(payload) if payload.is_whole_batch else subject(payload)
    lines = [
        f"Call {payload.broadcast_id or ''}".rstrip()
        + f" on {payload.chain} pays {pays}, {_origin(payload)}.",
        *_others(payload),
        f"It is a call of {payload.function} of Chainflip's vault "
        f"{address_text(payload.chain, payload.vault)} (chain id {payload.chain_id}), "
        f"signed with nonce {payload.nonce}.",
        "Any account may send it: the sender pays the gas, and "
        + ("each receiver gets its funds." if payload.is_batch else "the receiver above gets the funds."),
    ]
    if payload.message is not None:
        lines.append(f"The receiver is called with {len(payload.message)} bytes of message.")
    return [*lines, _until(failed)]


def unlisted(failed: FailedCall) -> list[str]:
    """Return a sentence about a call that the State Chain has given up, and the vault may take; else none."""
    if failed.payload.is_offered or failed.payload.is_batch:
        return []
    return [
        "The State Chain does not list the call any more, and does not sign it again. The key that signed it "
        "is the present one, so the vault may still take it."
    ]


def underway(failed: FailedCall) -> list[str]:
    """Return a sentence about a call that an authority is to send, too; else none."""
    if not failed.is_on_its_way:
        return []
    return [
        "It is on its way: Chainflip has had the call signed again, and an authority is sending it. Sending "
        "it yourself costs gas, and pays no receiver twice: wait, unless it does not arrive."
    ]


def _origin(payload: Payload) -> str:
    """Return the reason for the call: the transfer, batch or message that failed."""
    if payload.is_batch:
        return "in a batch that no authority could send"
    if payload.message is None:
        return "in place of a failed transfer"
    return f"with a message that no authority could deliver (broadcast {payload.broadcast_id} was aborted)"


def _others(payload: Payload) -> list[str]:
    """Return the transfers of a whole batch, or the others than the one searched for, one a line."""
    if payload.is_whole_batch:
        return [f"It pays {amount_text(part)} to {part.recipient_text}." for part in payload.parts]
    others = (replace(payload, transfer=transfer) for transfer in _other_transfers(payload))
    return [f"It also pays {amount_text(other)} to {other.recipient_text}." for other in others]


def _other_transfers(payload: Payload) -> list[TransferParams]:
    """Return the transfers of a batch without the one that was searched for."""
    is_chosen = [transfer is payload.transfer for transfer in payload.transfers]
    return [transfer for transfer, is_it in zip(payload.transfers, is_chosen, strict=True) if not is_it]


def _until(failed: FailedCall) -> str:
    now = f"The State Chain is in epoch {failed.epoch}"
    if failed.epoch_ends_at_block is not None:
        now += f", which lasts until about block {failed.epoch_ends_at_block}"
    if not failed.payload.is_offered:
        return f"{now}. The vault takes the call until it has the next epoch's key."
    if failed.last_epoch is None:
        return f"{now}."
    end = ""
    if failed.deadline_ms is not None:
        end = f" (until about {_time(failed.deadline_ms):%Y-%m-%d %H:%M} UTC{_clock(failed)})"
    if failed.last_epoch > failed.epoch:
        return (
            f"{now}. The payload will be signed anew in the next one, and offered until that one ends{end}."
        )
    return f"{now}. The payload is offered until this one ends{end}, and not signed anew."


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


def described(failed: FailedCall) -> dict[str, Any]:
    """Return the description as a JSON object."""
    payload, deadline = failed.payload, failed.deadline_ms
    return {
        **candidate(payload),
        "function": payload.function,
        "chainId": payload.chain_id,
        "vault": address_text(payload.chain, payload.vault),
        "keyManager": address_text(payload.chain, failed.key_manager),
        "nonce": payload.nonce,
        "signedByCurrentKey": failed.is_signed_by_current_key,
        "isOnItsWay": failed.is_on_its_way,
        "epoch": failed.epoch,
        "lastEpoch": failed.last_epoch,
        "lastBlock": failed.last_block,
        "deadline": None if deadline is None else f"{_time(deadline):%Y-%m-%dT%H:%M:%SZ}",
        "data": "0x" + payload.data.hex(),
        "gasLimit": payload.gas_limit,
    }


def candidate(payload: Payload) -> dict[str, Any]:
    """Return the identifying members of a call as a JSON object; the amount in base and in whole units."""
    asset = asset_of(payload)
    return {
        "chain": payload.chain,
        "broadcastId": payload.broadcast_id or None,
        "recipient": payload.recipient_text,
        "token": None if payload.is_native else payload.token_text,
        "asset": asset and asset.symbol,
        "amount": str(payload.transfer.amount),
        "amountText": amount_text(payload),
        "message": None if payload.message is None else "0x" + payload.message.hex(),
        **({"transfers": _transfers(payload)} if payload.is_batch else {}),
    }


def _transfers(payload: Payload) -> list[dict[str, Any]]:
    """Return all transfers of a batch as JSON objects."""
    parts = (replace(payload, transfer=transfer) for transfer in payload.transfers)
    return [
        {
            "recipient": part.recipient_text,
            "token": None if part.is_native else part.token_text,
            "amount": str(part.transfer.amount),
            "amountText": amount_text(part),
        }
        for part in parts
    ]


def for_tron(payload: Payload) -> dict[str, Any]:
    """Return a call for TronGrid's `triggersmartcontract` and the wallets built on it."""
    return {
        "contract_address": address_text("Tron", payload.vault),
        "function_selector": payload.call.signature,
        "parameter": payload.data[4:].hex(),
        "call_value": 0,
        "visible": True,
    }


def bare_call(payload: Payload) -> dict[str, Any]:
    """Return a call for `eth_sendTransaction` of a wallet that finds gas, fees and nonce itself."""
    return {
        "chainId": hex(payload.chain_id),
        "to": checksum_address(payload.vault),
        "value": "0x0",
        "data": "0x" + payload.data.hex(),
    }


def bare_gas(payload: Payload) -> tuple[dict[str, Any], str]:
    """Return the gas that a wallet has to give a bare call: as a JSON object, and in words."""
    minimum = f", to at least {payload.gas_limit} (gasLimit)" if payload.gas_limit is not None else ""
    words = (
        f"Raise the wallet's own gas estimate by a third{minimum}: the need changes with the block, and a "
        "transaction with too little gas fails and is paid for all the same."
    )
    return {"aboveEstimate": "1/3", "atLeast": payload.gas_limit}, words


def unsigned(transaction: UnsignedTransaction) -> dict[str, Any]:
    """Return a transaction for `eth_sendTransaction` of another wallet: JSON numbers as 0x hex."""
    return {
        key: hex(value) if isinstance(value, int) else value for key, value in transaction.fields().items()
    }


def wallet_fields(transaction: UnsignedTransaction) -> str:
    """Return gas, fees and nonce for the fields of a wallet: decimal, fees in gwei."""
    max_fee = f"{units(transaction.max_fee_per_gas, _GWEI)} gwei"
    fees = f"gas price {max_fee}"
    if not transaction.is_legacy:
        tip = units(transaction.max_priority_fee_per_gas, _GWEI)
        fees = f"maximum fee {max_fee}, priority fee {tip} gwei"
    return f"In the fields of a wallet: gas limit {transaction.gas}, {fees}, nonce {transaction.nonce}."
