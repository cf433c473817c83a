"""Checks of cross-chain messages (CCM) against their destination chain.

A message (CCM) travels with a swap's output and is given to the receiving contract. EVM contracts need
nothing but the message; Solana needs to know every account the program will touch, and all of it must fit
into one transaction; on Assethub the message is itself a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import base58

from cfnode.core.addresses import Script
from cfnode.core.assets import ASSETS, CHAINS
from cfnode.core.scale import Codec, ScaleError
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.frame import PalletStorage
from cfnode.devchain.runtime.frame.table import TypeTable
from cfnode.devchain.runtime.frame.types import COMMON
from cfnode.swaps.limits import MAX_CCM_ADDITIONAL_DATA_BYTES, MAX_CCM_MESSAGE_BYTES

__all__ = ["CcmError", "accounts_of", "check_ccm", "check_ccm_bounds", "supports_ccm", "tables_of"]

MAX_ADDRESS_TABLES = 3
_KEY = 32
_REFERENCE = 1
_TABLE = 34  # its key, and the lengths of two lists of indices
_SAVED_BY_TABLES = 62
# What a Solana transaction has left for the message and its accounts.
_ROOM = {"Sol": 783, "SolUsdc": 694, "SolUsdt": 694 - 2 * 31}
_TOKEN_PROGRAM = base58.b58decode("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
_ALWAYS_THERE = (bytes(32), base58.b58decode("Sysvar1nstructions1111111111111111111111111"))


class CcmError(Exception):
    """The message is refused; the text is the runtime's own."""


def check_ccm_bounds(ccm: values.CcmMetadata | None) -> None:
    """Raise ScaleError if a message, or None, is longer than its type allows."""
    if ccm is None:
        return
    for name, field, limit in (
        ("message", ccm.message, MAX_CCM_MESSAGE_BYTES),
        ("ccm_additional_data", ccm.ccm_additional_data, MAX_CCM_ADDITIONAL_DATA_BYTES),
    ):
        if len(field) > limit:
            raise ScaleError(f"{name} has up to {limit} bytes, not {len(field)}")


def supports_ccm(asset: str) -> bool:
    """Return whether messages can be sent to the chain of an asset."""
    return CHAINS[ASSETS[asset].chain].ccm


def check_ccm(
    pallet: PalletStorage, ccm: values.CcmMetadata, asset: str, destination: bytes | Script
) -> values.CheckedCcm:
    """Return the message in its checked form, with decoded additional data. Raises CcmError.

    `destination` is the account on the chain of `asset`. The gas budget is not checked.
    """
    chain = ASSETS[asset].chain
    data: values.DecodedCcmAdditionalData = "NotRequired"
    if chain == "Solana":
        data = _check_solana(pallet, ccm, asset, destination)
    elif chain == "Assethub":
        _check_assethub(ccm)
    elif ccm.ccm_additional_data:
        raise CcmError("Invalid Ccm: Additional data supplied but they will not be used")
    return values.CcmChannelMetadata(message=ccm.message, gas_budget=ccm.gas_budget, ccm_additional_data=data)


@lru_cache(maxsize=1)
def _xcm_call() -> Codec:
    """Return the codec of Assethub's calls, of a type table of its own: no metadata of ours has them."""
    table = TypeTable(COMMON)
    call = table.id("XcmCall")
    return table.registry.codec(call)


def _check_assethub(ccm: values.CcmMetadata) -> None:
    try:
        _xcm_call().decode(ccm.message)
    except ScaleError:
        raise CcmError("Invalid Ccm: Cannot decode additional data") from None


def _check_solana(
    pallet: PalletStorage, ccm: values.CcmMetadata, asset: str, destination: bytes | Script
) -> values.DecodedCcmAdditionalDataSolana:
    versioned: values.SolanaCcmData
    try:
        codec = pallet.codec("VersionedSolanaCcmAdditionalData")
        versioned, _ = codec.decode_from(ccm.ccm_additional_data, 0)  # bytes after it are ignored
    except ScaleError:
        raise CcmError("Invalid Ccm: Cannot decode additional data") from None
    tables = tables_of(versioned)
    if len(tables) > MAX_ADDRESS_TABLES:
        raise CcmError("Invalid Ccm: Too many address lookup tables")
    accounts_length = _accounts_length(accounts_of(versioned), len(tables), asset, destination)
    length = len(ccm.message) + accounts_length
    if length > _ROOM[asset]:
        raise CcmError("Invalid Ccm: message too long")
    return values.DecodedCcmAdditionalDataSolana(versioned)


def accounts_of(data: values.SolanaCcmData) -> values.CcmAccounts:
    """Return the accounts that a program will touch."""
    return data.value if isinstance(data, values.SolanaCcmDataV0) else data.ccm_accounts


def tables_of(data: values.SolanaCcmData) -> Sequence[bytes]:
    """Return the address lookup tables of a message."""
    return () if isinstance(data, values.SolanaCcmDataV0) else data.alts


def _accounts_length(
    accounts: values.CcmAccounts, tables: int, asset: str, destination: bytes | Script
) -> int:
    """Return the bytes that further accounts add: a reference each, and a key for each new one."""
    known_keys = {*_ALWAYS_THERE, destination, accounts.cf_receiver.pubkey}
    if asset != "Sol":
        known_keys.add(_TOKEN_PROGRAM)
    named_keys = [account.pubkey for account in accounts.additional_accounts]
    new_keys = len(set(named_keys) - known_keys)
    keys = new_keys * (_REFERENCE if tables else _KEY)
    in_tables = tables * _TABLE - _SAVED_BY_TABLES if tables else 0
    return len(named_keys) * _REFERENCE + keys + in_tables
