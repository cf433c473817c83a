"""Chain spec and genesis of the development chain that the flags of `cfnode run --dev` describe.

Flags that change the genesis (authorities, epochs, runtime, contracts, extra entries) make a separate chain,
`dev-` and eight hex digits; the defaults give the one genesis of `dev`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from cfnode.core.chainspec import ChainSpec
from cfnode.devchain.authorities import AuthorityKeys
from cfnode.devchain.config import DevConfig, EvmContracts
from cfnode.devchain.runtime.config import (
    CONTRACTS,
    DevAuthority,
    DevGenesis,
    EvmAddresses,
)
from cfnode.devchain.runtime.genesis import dev_chain_spec

__all__ = ["dev_genesis", "dev_spec"]


def dev_spec(dev: DevConfig, authorities: Sequence[AuthorityKeys]) -> ChainSpec:
    """Return the chain spec of these flags."""
    return dev_chain_spec(dev_genesis(dev, authorities))


def dev_genesis(dev: DevConfig, authorities: Sequence[AuthorityKeys]) -> DevGenesis:
    """Return the genesis of these flags; the defaults give the one genesis of `dev`."""
    named_authorities = () if dev.authorities in (None, "1") else authorities
    return DevGenesis(
        authorities=tuple(
            DevAuthority(keys.aura.public, keys.grandpa.public, keys.weight) for keys in named_authorities
        ),
        epoch_blocks=dev.epoch_blocks,
        rotate_keys=dev.rotate_keys,
        state_entries=dev.state_entries,
        release=dev.runtime,
        contracts=tuple(
            (chain, _contracts(CONTRACTS[chain], stated))
            for chain, stated in dev.contracts.items()
            if _contracts(CONTRACTS[chain], stated) != CONTRACTS[chain]
        ),
    )


def _contracts(usual: EvmAddresses, stated: EvmContracts) -> EvmAddresses:
    addresses = {field.name: getattr(stated, field.name) for field in fields(stated)}
    return replace(usual, **{name: value for name, value in addresses.items() if value is not None})
