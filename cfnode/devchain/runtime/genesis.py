"""The genesis state and the chain spec of a development chain.

The genesis of `dev` is a constant: the same state, hence the same hash, on every machine. Any other
configuration is another chain, whose id carries the hash of its own genesis: `dev-<hash8>`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from cfnode.core.chainspec import ChainSpec, RawGenesis, genesis_hash
from cfnode.core.keys import Keypair
from cfnode.core.state import CODE

from .config import DevAuthority, DevGenesis
from .frame import GenesisHost
from .releases import RELEASES
from .runtime import DevRuntime
from .well_known import WELL_KNOWN, WELL_KNOWN_FLIP, authority_uri

PROTOCOL_ID = "flip-dev"


def dev_authorities(count: int = 1, weights: tuple[int, ...] = ()) -> tuple[DevAuthority, ...]:
    """Return the first `count` development authorities: //Alice … //Ferdie, then //Authority//6 and on."""
    return tuple(
        DevAuthority(
            Keypair.from_suri(uri, "sr25519").public,
            Keypair.from_suri(uri, "ed25519").public,
            weights[index] if index < len(weights) else 1,
        )
        for index, uri in enumerate(map(authority_uri, range(count)))
    )


def dev_genesis(config: DevGenesis | None = None) -> dict[bytes, bytes]:
    """Return the top storage of block 0."""
    config = _completed(config or DevGenesis())
    runtime, host = DevRuntime(RELEASES[config.release]), GenesisHost()
    host.set(CODE, runtime.code)
    with runtime.composition.on(host):
        for pallet in runtime.composition.pallets:
            pallet.genesis(config)
    return host.storage


def dev_chain_spec(config: DevGenesis | None = None) -> ChainSpec:
    """Return the chain spec of this configuration: `dev`, or `dev-<hash8>` for any but the default."""
    spec = ChainSpec(
        name="Chainflip-Dev",
        id="dev",
        chain_type="Development",
        boot_nodes=(),
        genesis=RawGenesis(dev_genesis(config)),
        protocol_id=PROTOCOL_ID,
        properties={"ss58Format": 2112, "tokenDecimals": 18, "tokenSymbol": "FLIP", "color": "#61CFAA"},
    )
    if config is None or _completed(config) == _completed(DevGenesis()):
        return spec
    name = genesis_hash(spec).hex()[:8]
    return replace(spec, id=f"dev-{name}", name=f"Chainflip-Dev-{name}", protocol_id=f"{PROTOCOL_ID}-{name}")


@lru_cache(maxsize=1)
def _well_known() -> tuple[tuple[bytes, int], ...]:
    return tuple((Keypair.from_suri(f"//{name}").account, WELL_KNOWN_FLIP) for name in WELL_KNOWN)


def _completed(config: DevGenesis) -> DevGenesis:
    """Return the configuration with the defaults: one authority, and the well-known accounts' FLIP."""
    return replace(
        config,
        authorities=config.authorities or dev_authorities(),
        funded=(*_well_known(), *config.funded),
    )
