"""Public keys, secrets and contracts of a development chain's vaults on the foreign chains.

The secrets are public too: each is the Keccak-256 of a label in this module, so that a test can sign what the
authorities of the main net would have signed. Never send real funds to these vaults. A key that is generated
for a later epoch has the epoch's number in its label. Program addresses on Solana are derived from
labels too. The tokens are those of the main nets, because deposit addresses depend on them
(`core.addresses.evm`); the other contracts of the EVM chains are part of genesis (`config`).
"""

from __future__ import annotations

from functools import lru_cache
from itertools import count

import base58
from coincurve import PrivateKey
from nacl.signing import SigningKey

from cfnode.core.addresses.solana import is_on_curve, program_address
from cfnode.core.hashing import keccak_256
from cfnode.core.keys import Keypair
from cfnode.devchain.runtime import values
from cfnode.devchain.runtime.chains.solana import SOLANA

__all__ = [
    "ASSETHUB_VAULT",
    "GENESIS_EPOCH",
    "AggKey",
    "bitcoin_public_key",
    "bitcoin_secret",
    "evm_key",
    "evm_secret",
    "polkadot_pair",
    "polkadot_public_key",
    "secret_of",
    "signer_key",
    "solana_environment",
    "solana_public_key",
]

AggKey = values.EvmAggKey | values.BtcAggKey | bytes
"""The aggregate key of a signature scheme; those of Solana and Polkadot are bytes."""

GENESIS_EPOCH = 1
MAX_CACHED_KEYS = 256
"""Cached keys of each kind, one an epoch: `secret_of` tries those of earlier epochs."""

_LABEL = "cfnode development chain: "
# Half of secp256k1's order; the key manager contract wants the x of an aggregate key below it.
_HALF_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141 // 2

SOLANA_TOKENS = {name: terms.token for name, terms in SOLANA.assets.items() if terms.token}
_TOKEN_PROGRAM = base58.b58decode("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")
_ATA_PROGRAM = base58.b58decode("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")


def _labelled(what: str) -> bytes:
    return keccak_256((_LABEL + what).encode())


ASSETHUB_VAULT = _labelled("Assethub vault")
"""The account from which deposit channels on Assethub are derived."""


@lru_cache(maxsize=MAX_CACHED_KEYS)
def evm_secret(epoch: int = GENESIS_EPOCH) -> bytes:
    """Return the secret scalar (32 bytes) of the EVM chains' key of an epoch.

    It comes from the first label whose public key has a small enough x.
    """
    attempt = 0
    while True:
        secret = _labelled(f"{_of(epoch)}EVM key {attempt}")
        if int.from_bytes(PrivateKey(secret).public_key.format()[1:], "big") <= _HALF_ORDER:
            return secret
        attempt += 1


@lru_cache(maxsize=MAX_CACHED_KEYS)
def bitcoin_public_key(epoch: int = GENESIS_EPOCH) -> bytes:
    """Return the x-only aggregate key (32 bytes) of the Bitcoin vault."""
    return PrivateKey(bitcoin_secret(epoch)).public_key.format()[1:]


def bitcoin_secret(epoch: int = GENESIS_EPOCH) -> bytes:
    """Return the secret scalar (32 bytes) of the Bitcoin vault's key of an epoch."""
    return _labelled(f"{_of(epoch)}Bitcoin key")


@lru_cache(maxsize=MAX_CACHED_KEYS)
def solana_public_key(epoch: int = GENESIS_EPOCH) -> bytes:
    """Return the aggregate key (32 bytes) of the Solana vault."""
    return SigningKey(_labelled(f"{_of(epoch)}Solana key")).verify_key.encode()


@lru_cache(maxsize=MAX_CACHED_KEYS)
def polkadot_public_key(epoch: int = GENESIS_EPOCH) -> bytes:
    """Return the aggregate key (32 bytes) that acts for the vault on Assethub."""
    return polkadot_pair(epoch).public


def polkadot_pair(epoch: int = GENESIS_EPOCH) -> Keypair:
    """Return the key pair of an epoch that acts for the vault; it signs equal messages with equal bytes."""
    return Keypair.from_seed(_labelled(f"{_of(epoch)}Polkadot key")).repeatable()


def signer_key(signer: str, epoch: int = GENESIS_EPOCH) -> AggKey:
    """Return the key that a threshold signer pallet generates for an epoch, as a value of its type."""
    if signer == "EvmThresholdSigner":
        return evm_key(epoch)
    if signer == "BitcoinThresholdSigner":
        return values.BtcAggKey(previous=None, current=bitcoin_public_key(epoch))
    return solana_public_key(epoch) if signer == "SolanaThresholdSigner" else polkadot_public_key(epoch)


def evm_key(epoch: int = GENESIS_EPOCH) -> values.EvmAggKey:
    """Return the key that the EVM chains' threshold signer generates for an epoch."""
    public = PrivateKey(evm_secret(epoch)).public_key.format()
    return values.EvmAggKey(pub_key_x=public[1:], pub_key_y_parity="Odd" if public[0] == 3 else "Even")


def secret_of(key: values.EvmAggKey, epoch: int) -> bytes:
    """Return the secret of an EVM key that some epoch up to `epoch` has generated. Raises LookupError."""
    for generated in (GENESIS_EPOCH, *range(epoch, GENESIS_EPOCH, -1)):
        if evm_key(generated) == key:
            return evm_secret(generated)
    raise LookupError(f"no epoch up to {epoch} has generated the key 0x{key.pub_key_x.hex()}")


def _of(epoch: int) -> str:
    return "" if epoch == GENESIS_EPOCH else f"epoch {epoch}: "


def solana_environment() -> values.SolApiEnvironment:
    """Return the `SolApiEnvironment`: Chainflip's programs and accounts on Solana."""
    vault = _program("Solana vault program")
    vault_pda = program_address([b"vault"], vault)[0]
    swap_endpoint = _program("Solana swap endpoint program")
    return values.SolApiEnvironment(
        vault_program=vault,
        vault_program_data_account=_labelled("Solana vault data account"),
        token_vault_pda_account=vault_pda,
        usdc_token_mint_pubkey=SOLANA_TOKENS["SolUsdc"],
        usdc_token_vault_ata=_token_account(vault_pda, SOLANA_TOKENS["SolUsdc"]),
        usdt_token_mint_pubkey=SOLANA_TOKENS["SolUsdt"],
        usdt_token_vault_ata=_token_account(vault_pda, SOLANA_TOKENS["SolUsdt"]),
        swap_endpoint_program=swap_endpoint,
        swap_endpoint_program_data_account=_labelled("Solana swap endpoint data account"),
        alt_manager_program=_program("Solana address table manager program"),
        address_lookup_table_account=values.AddressLookupTableAccount(
            key=_labelled("Solana address table"), addresses=[]
        ),
    )


def _program(what: str) -> bytes:
    """Return the first label's hash that is a point of ed25519, as the chain requires of a program."""
    candidates = (_labelled(f"{what} {attempt}" if attempt else what) for attempt in count())
    return next(candidate for candidate in candidates if is_on_curve(candidate))


def _token_account(owner: bytes, mint: bytes) -> bytes:
    return program_address([owner, _TOKEN_PROGRAM, mint], _ATA_PROGRAM)[0]
