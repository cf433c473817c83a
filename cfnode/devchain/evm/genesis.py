"""The first state of a local EVM chain: key manager, vault and tokens, and the accounts that pay for gas.

The contracts stand where the development chain's payloads call them, from the first block on, with their
storage written directly: what each slot holds is in the sources in `contracts/`, whose compiled code is
`contracts/compiled.json` (`scripts/contracts.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Final

from cfnode.core.assets import ASSETS
from cfnode.core.ethereum_key import EthereumKey
from cfnode.core.foreign import read_json
from cfnode.core.hashing import keccak_256
from cfnode.core.vault_calls import NATIVE_TOKEN
from cfnode.devchain.evm.chain import EvmAccount
from cfnode.devchain.evm.deployed import Contracts

__all__ = ["GOVERNOR", "PAYER_COINS", "accounts", "compiled"]

GOVERNOR: Final = EthereumKey.from_secret(keccak_256(b"cfnode development chain: governor of the EVM chains"))
"""The account that follows the development chain's keys; its key is public."""
PAYER_COINS: Final = 1_000
"""Whole coins of each account that pays for gas."""
_VAULT_UNITS: Final = 1_000_000_000
"""Whole coins, and whole units of each token, that the vault holds."""
_WEI: Final = 10**18
_WORD: Final = 32
_BALANCES: Final = 4
"""Slot of a token's balances."""


@cache
def compiled() -> dict[str, bytes]:
    """Return the code of each contract by its name."""
    text = files(__package__).joinpath("contracts", "compiled.json").read_text()
    return {name: bytes.fromhex(code) for name, code in read_json(text)["code"].items()}


def accounts(contracts: Contracts, payers: Iterable[bytes]) -> dict[bytes, EvmAccount]:
    """Return the accounts of the first block; `payers` (20 bytes each) have coins for gas."""
    code = compiled()
    key = contracts.aggregate_key
    manager = {0: int.from_bytes(key[1:], "big"), 1: key[0] & 1, 2: int.from_bytes(GOVERNOR.address, "big")}
    return {
        **{payer: EvmAccount(PAYER_COINS * _WEI) for payer in (*payers, GOVERNOR.address)},
        **{
            address: EvmAccount(code=code["Token"], storage=_token(asset, contracts.vault))
            for asset, address in contracts.tokens.items()
            if address != NATIVE_TOKEN
        },
        contracts.key_manager: EvmAccount(code=code["KeyManager"], storage=manager),
        contracts.vault: EvmAccount(
            _VAULT_UNITS * _WEI, code["Vault"], {0: int.from_bytes(contracts.key_manager, "big")}
        ),
    }


def _token(name: str, holder: bytes) -> dict[int, int]:
    """Return the storage of a token that one account holds."""
    asset = ASSETS[name]
    symbol, supply = asset.symbol.encode(), _VAULT_UNITS * 10**asset.decimals
    balance = keccak_256(_BALANCES.to_bytes(_WORD, "big") + holder.rjust(_WORD, b"\0"))
    return {
        0: len(symbol),
        1: int.from_bytes(symbol.ljust(_WORD, b"\0"), "big"),
        2: asset.decimals,
        3: supply,
        int.from_bytes(balance, "big"): supply,
    }
