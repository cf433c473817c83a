"""Genesis configuration of a development chain: authorities, contracts, prices, pools and funds.

Everything here is in genesis: another value makes another chain. The defaults are those of `dev`, whose
genesis hash is one constant on every machine. The vaults and key managers of the EVM chains are those of
Chainflip's own local network, the tokens those of the main nets; a test bed with contracts of its own gives
their addresses.
"""

from __future__ import annotations

from dataclasses import dataclass

from cfnode.core.hashing import blake2_256
from cfnode.devchain.runtime.keys import tokens_of
from cfnode.devchain.runtime.release_names import DEFAULT_RELEASE
from cfnode.devchain.runtime.well_known import FLIP

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


@dataclass(frozen=True, slots=True)
class EvmAddresses:
    """The contracts of one EVM chain, 20 bytes each; `tokens` maps the chain's assets to theirs."""

    chain_id: int
    key_manager: bytes
    vault: bytes
    tokens: tuple[tuple[str, bytes], ...]
    gateway: bytes = bytes(20)


ETHEREUM = EvmAddresses(
    chain_id=10_997,
    key_manager=bytes.fromhex("a16E02E87b7454126E5E10d957A927A7F5B5d2be"),
    vault=bytes.fromhex("B7A5bd0345EF1Cc5E66bf61BdeC17D2461fBd968"),
    gateway=bytes.fromhex("eEBe00Ac0756308ac4AaBfD76c05c4F3088B8883"),
    tokens=tokens_of("Ethereum"),
)
ARBITRUM = EvmAddresses(
    chain_id=412_346,
    key_manager=bytes.fromhex("5FbDB2315678afecb367f032d93F642f64180aa3"),
    vault=bytes.fromhex("e7f1725E7734CE288F8367e1Bb143E90bb3F0512"),
    tokens=tokens_of("Arbitrum"),
)
TRON = EvmAddresses(
    chain_id=3_448_148_188,
    key_manager=bytes.fromhex("eb99889eb704b4d58256ff25b4f033c673c166b6"),
    vault=bytes.fromhex("2fca9b8e3816e10d6c6033d0f7e0471542a09110"),
    tokens=tokens_of("Tron"),
)
BSC = EvmAddresses(
    chain_id=343,
    key_manager=bytes.fromhex("5FbDB2315678afecb367f032d93F642f64180aa3"),
    vault=bytes.fromhex("e7f1725E7734CE288F8367e1Bb143E90bb3F0512"),
    tokens=tokens_of("Bsc"),
)


DOLLAR = 10**6
POOL_DEPTH = 10_000_000 * DOLLAR
USD_PRICES: dict[str, int] = {
    "Flip": DOLLAR * 40 // 100,
    "Eth": 2_800 * DOLLAR,
    "ArbEth": 2_800 * DOLLAR,
    "Dot": 2 * DOLLAR,
    "HubDot": 2 * DOLLAR,
    "Btc": 86_500 * DOLLAR,
    "Wbtc": 86_500 * DOLLAR,
    "Sol": 127 * DOLLAR,
    "Trx": DOLLAR * 30 // 100,
    "Bnb": 600 * DOLLAR,
    "Cbbtc": 86_500 * DOLLAR,
}
"""Microdollars for a whole unit: the chain's fallback prices. An asset without an entry is a dollar token."""


@dataclass(frozen=True, slots=True)
class DevPool:
    """A pool at genesis: price of a whole unit, and USDC on the pool's one side, both in microdollars."""

    asset: str
    price: int | None = None
    depth: int = POOL_DEPTH

    @property
    def microdollars(self) -> int:
        """The stated price, or the usual one."""
        return USD_PRICES.get(self.asset, DOLLAR) if self.price is None else self.price


@dataclass(frozen=True, slots=True)
class DevGenesis:
    """The genesis of a development chain.

    `authorities` empty means the one of `dev`. `release` names the runtime. `funded` are accounts with their
    FLIP besides the well-known ones. `state_entries` values of 64 bytes are added for tests of state sync.
    `pools` lists those whose price or depth is not the usual.
    """

    authorities: tuple[DevAuthority, ...] = ()
    epoch_blocks: int = EPOCH_BLOCKS
    rotate_keys: bool = False
    state_entries: int = 0
    release: str = DEFAULT_RELEASE
    funded: tuple[tuple[bytes, int], ...] = ()
    ethereum: EvmAddresses = ETHEREUM
    arbitrum: EvmAddresses = ARBITRUM
    tron: EvmAddresses = TRON
    bsc: EvmAddresses = BSC
    pools: tuple[DevPool, ...] = ()

    @property
    def validators(self) -> tuple[tuple[bytes, DevAuthority], ...]:
        """Each authority with its validator account.

        That is not the account of its key, whose owner may still become a broker.
        """
        return tuple((validator_account(authority.aura), authority) for authority in self.authorities)


def validator_account(aura: bytes) -> bytes:
    """Return the validator account (32 bytes) of an Aura key."""
    return blake2_256(b"cfnode-dev/validator" + aura)
