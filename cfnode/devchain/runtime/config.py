"""Genesis configuration of a development chain: authorities, contracts, prices, pools and funds.

Everything here is in genesis: another value makes another chain. The defaults are those of `dev`, whose
genesis hash is one constant on every machine. The vaults and key managers of the EVM chains are those of
Chainflip's own local network, the tokens those of the main nets; a test bed with contracts of its own gives
their addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfnode.core.hashing import blake2_256
from cfnode.devchain.runtime.chains import ASSET_TERMS, CHAIN_INSTANCES, DOLLAR, EvmAddresses
from cfnode.devchain.runtime.release_names import DEFAULT_RELEASE
from cfnode.devchain.runtime.well_known import FLIP

__all__ = [
    "CONTRACTS",
    "DOLLAR",
    "EPOCH_BLOCKS",
    "FLIP",
    "FUNDING_ADVICE",
    "MINIMUM_FUNDING",
    "POOL_DEPTH",
    "RECOMMENDED_FUNDING",
    "USD_PRICES",
    "DevAuthority",
    "DevGenesis",
    "DevPool",
    "EvmAddresses",
    "validator_account",
]

MINIMUM_FUNDING = 1 * FLIP
RECOMMENDED_FUNDING = 5 * FLIP
FUNDING_ADVICE = "an account needs at least 1 FLIP; 5 FLIP are recommended"

EPOCH_BLOCKS = 43_200
"""Blocks of an epoch on the main net: three days."""


@dataclass(frozen=True, slots=True)
class DevAuthority:
    """A block author and finality voter: Aura key (sr25519), GRANDPA key (ed25519), GRANDPA weight."""

    aura: bytes
    grandpa: bytes
    weight: int = 1


CONTRACTS: dict[str, EvmAddresses] = {
    name: chain.contracts for name, chain in CHAIN_INSTANCES.items() if chain.contracts is not None
}
"""The usual contracts of the EVM chains."""
POOL_DEPTH = 10_000_000 * DOLLAR
USD_PRICES = {name: terms.price for name, terms in ASSET_TERMS.items()}
"""Microdollars for a whole unit: the chain's fallback prices."""


@dataclass(frozen=True, slots=True)
class DevPool:
    """A pool at genesis: price of a whole unit, and USDC on the pool's one side, both in microdollars."""

    asset: str
    price: int | None = None
    depth: int = POOL_DEPTH

    @property
    def microdollars(self) -> int:
        """The stated price, or the usual one."""
        return USD_PRICES[self.asset] if self.price is None else self.price


@dataclass(frozen=True, slots=True)
class DevGenesis:
    """The genesis of a development chain.

    `authorities` empty means the one of `dev`. `release` names the runtime. `funded` are accounts with their
    FLIP besides the well-known ones. `state_entries` values of 64 bytes are added for tests of state sync.
    `contracts`, by EVM chain, and `pools` list those that are not the usual ones.
    """

    authorities: tuple[DevAuthority, ...] = ()
    epoch_blocks: int = EPOCH_BLOCKS
    rotate_keys: bool = False
    state_entries: int = 0
    release: str = DEFAULT_RELEASE
    funded: tuple[tuple[bytes, int], ...] = ()
    contracts: tuple[tuple[str, EvmAddresses], ...] = ()
    pools: tuple[DevPool, ...] = ()

    @property
    def contracts_by_chain(self) -> Mapping[str, EvmAddresses]:
        """The contracts on each EVM chain."""
        return CONTRACTS | dict(self.contracts)

    @property
    def validators(self) -> tuple[tuple[bytes, DevAuthority], ...]:
        """Each authority with its validator account.

        That is not the account of its key, whose owner may still become a broker.
        """
        return tuple((validator_account(authority.aura), authority) for authority in self.authorities)


def validator_account(aura: bytes) -> bytes:
    """Return the validator account (32 bytes) of an Aura key."""
    return blake2_256(b"cfnode-dev/validator" + aura)
