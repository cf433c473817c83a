"""Settings of a development chain: the flags of `cfnode run --dev`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cfnode.devchain.runtime.release_names import DEFAULT_RELEASE

__all__ = ["DevConfig", "EvmContracts"]


@dataclass(frozen=True, slots=True)
class EvmContracts:
    """Chainflip's contracts on one EVM chain, 20 bytes each, and its chain id; None: the usual ones."""

    vault: bytes | None = None
    key_manager: bytes | None = None
    chain_id: int | None = None


@dataclass(frozen=True, slots=True)
class DevConfig:
    """The development chain that this node authors."""

    seal: Literal["slots", "instant", "manual"] = "slots"
    block_time: int = 6000
    """Milliseconds of real time between two blocks."""
    start_time: int | Literal["now"] | None = None
    """Unix milliseconds at which the chain's own clock begins, or the real time.

    None: after the last block of the state that the chain begins with, else a year back where one is needed.
    """
    finality_lag: int = 2
    """Blocks that automatic finality stays behind the best one."""
    authorities: str | None = None
    """A number of equal authorities, or the path of a JSON file; None: one."""
    silent: tuple[int, ...] = ()
    """Indices of authorities that sign no finality votes."""
    epoch_blocks: int = 43_200
    rotate_keys: bool = False
    """Whether the keys are rotated after each epoch of `epoch_blocks`."""
    runtime: str = DEFAULT_RELEASE
    """The release of the runtime at genesis, by name."""
    state_entries: int = 0
    """Extra storage entries at genesis, for tests of state download."""
    contracts: Mapping[str, EvmContracts] = field(default_factory=dict)
    """The contracts, by EVM chain, that the aggregate key signs for; part of genesis."""
    broker_suri: str | None = field(default=None, repr=False)
    """Secret URI of a broker's key, whose account the chain registers; None: the keystore's key."""
    provider_suri: str | None = field(default=None, repr=False)
    """Secret URI of a liquidity provider's key, whose account the chain registers; None: the keystore's."""
