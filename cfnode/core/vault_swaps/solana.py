"""Vault swaps on Solana: instructions of Chainflip's swap endpoint program.

The data is Borsh, after the eight bytes by which Anchor identifies an instruction: SHA-256 of `global:` and
its name. Amounts have 64 bits, lengths 32. The accounts have fixed positions: the payer is the third in both
instructions, the account that will hold the swap's event is one or two later, and a token's mint is the
ninth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cfnode.core.addresses import EncodedAddress
from cfnode.core.addresses.solana import program_address
from cfnode.core.assets import CHAINS, ForeignAsset
from cfnode.core.hashing import sha2_256
from cfnode.core.scale import ByteCursor, ScaleError

from .terms import SentSwap, address_on, asset_numbered, decode_cf_parameters, number, option

__all__ = [
    "Accounts",
    "SolanaSwap",
    "decode_instruction_data",
    "event_account",
    "instruction_data",
    "native_accounts",
    "native_vault",
    "token_account_of",
    "token_accounts",
]

TOKEN_DECIMALS: Final = 6
SOLANA_ADDRESS_BYTES: Final = 32
_NATIVE: Final = sha2_256(b"global:x_swap_native")[:8]
_TOKEN: Final = sha2_256(b"global:x_swap_token")[:8]
_PAYER, _NATIVE_EVENT, _TOKEN_SOURCE, _TOKEN_EVENT, _MINT = 2, 3, 3, 4, 8
_SYSTEM_PROGRAM: Final = bytes(32)
TOKEN_PROGRAM: Final = bytes.fromhex("06ddf6e1d765a193d9cbe146ceeb79ac1cb485ed5f5b37913a8cf5857eff00a9")
_TOKEN_ACCOUNTS: Final = bytes.fromhex("8c97258f4e2489f1bb3d1029148e0d830b5a1399daff1084048e7bd8dbe9f859")

Accounts = list[dict[str, Any]]
"""`AccountMeta`s: pubkey, is_signer, is_writable."""


@dataclass(frozen=True, slots=True)
class SolanaSwap:
    """The swap of an instruction, its seed, and accounts: the payer, the event's, the tokens'."""

    sent: SentSwap
    payer: bytes
    seed: bytes
    event_account: bytes
    token_account: bytes | None = None


def event_account(program: bytes, payer: bytes, seed: bytes) -> bytes:
    """Return the account in which the program keeps the swap for the State Chain to read."""
    return program_address([b"swap_event", payer, seed], program)[0]


def token_account_of(owner: bytes, mint: bytes) -> bytes:
    """Return the associated token account of an owner."""
    return program_address([owner, TOKEN_PROGRAM, mint], _TOKEN_ACCOUNTS)[0]


def native_vault(program: bytes) -> bytes:
    """Return the account of the swap endpoint that holds SOL until it is fetched into the vault."""
    return program_address([b"swap_endpoint_native_vault"], program)[0]


def native_accounts(environment: Mapping[str, Any], payer: bytes, seed: bytes) -> Accounts:
    """Return the accounts of an instruction that swaps SOL.

    `environment` is a value of `SolApiEnvironment`.
    """
    program = environment["swap_endpoint_program"]
    return [
        _meta(environment["vault_program_data_account"]),
        _meta(native_vault(program), writable=True),
        _meta(payer, signer=True, writable=True),
        _meta(event_account(program, payer, seed), writable=True),
        _meta(environment["swap_endpoint_program_data_account"], writable=True),
        _meta(_SYSTEM_PROGRAM),
    ]


def token_accounts(
    environment: Mapping[str, Any], payer: bytes, seed: bytes, token: str, source: bytes | None
) -> Accounts:
    """Return the accounts of an instruction that swaps a token, "usdc" or "usdt".

    `environment` is a value of `SolApiEnvironment`; `source` is the account that pays, by default the payer's
    associated token account.
    """
    mint, program = environment[f"{token}_token_mint_pubkey"], environment["swap_endpoint_program"]
    supported = program_address([b"supported_token", mint], environment["vault_program"])[0]
    return [
        _meta(environment["vault_program_data_account"]),
        _meta(environment[f"{token}_token_vault_ata"], writable=True),
        _meta(payer, signer=True, writable=True),
        _meta(source or token_account_of(payer, mint), writable=True),
        _meta(event_account(program, payer, seed), writable=True),
        _meta(environment["swap_endpoint_program_data_account"], writable=True),
        _meta(supported),
        _meta(TOKEN_PROGRAM),
        _meta(mint),
        _meta(_SYSTEM_PROGRAM),
    ]


def _meta(key: bytes, *, signer: bool = False, writable: bool = False) -> dict[str, Any]:
    return {"pubkey": key, "is_signer": signer, "is_writable": writable}


def instruction_data(
    destination: ForeignAsset,
    address: EncodedAddress,
    parameters: bytes,
    *,
    amount: int,
    seed: bytes,
    ccm: dict[str, Any] | None = None,
    is_token: bool = False,
) -> bytes:
    """Return the data of the instruction that swaps `amount` of SOL or of a token."""
    message = None if ccm is None else _vec(ccm["message"]) + number(ccm["gas_budget"], 8)
    return b"".join(
        (
            _TOKEN if is_token else _NATIVE,
            number(amount, 8),
            number(CHAINS[destination.chain].index, 4),
            _vec(address[1]),
            number(destination.index, 4),
            option(message),
            _vec(parameters),
            bytes((TOKEN_DECIMALS,)) if is_token else b"",
            _vec(seed),
        )
    )


def decode_instruction_data(data: bytes, accounts: Sequence[Mapping[str, Any]]) -> SolanaSwap:
    """Return the swap in an instruction. Raises ScaleError if it is malformed."""
    is_token = data[:8] == _TOKEN
    if not is_token and data[:8] != _NATIVE:
        raise ScaleError(f"0x{data[:8].hex()} is not an instruction that swaps")
    if len(accounts) != (10 if is_token else 6):
        raise ScaleError(f"an instruction that swaps has 6 accounts, or 10 for a token, not {len(accounts)}")
    cursor = ByteCursor(data, 8)
    amount, chain, payload = cursor.u64(), cursor.u32(), _read_vec(cursor)
    destination = asset_numbered(cursor.u32())
    message = (_read_vec(cursor), cursor.u64()) if cursor.boolean() else None
    terms = decode_cf_parameters(_read_vec(cursor), SOLANA_ADDRESS_BYTES, message)
    if is_token and cursor.u8() != TOKEN_DECIMALS:
        raise ScaleError(f"the tokens have {TOKEN_DECIMALS} decimals")
    seed = _read_vec(cursor)
    cursor.finish()
    keys = [account["pubkey"] for account in accounts]
    sent = SentSwap(destination, address_on(chain, payload), terms, keys[_MINT] if is_token else None, amount)
    if is_token:
        return SolanaSwap(sent, keys[_PAYER], seed, keys[_TOKEN_EVENT], keys[_TOKEN_SOURCE])
    return SolanaSwap(sent, keys[_PAYER], seed, keys[_NATIVE_EVENT])


def _vec(data: bytes) -> bytes:
    return number(len(data), 4) + data


def _read_vec(cursor: ByteCursor) -> bytes:
    return cursor.take(cursor.u32())
