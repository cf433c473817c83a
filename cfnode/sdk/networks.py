"""Services of each Chainflip network, and the foreign networks behind it.

`dev` is a development chain on this machine: node, broker and swap service share one port.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cfnode.sdk.choices import unknown_value
from cfnode.sdk.errors import ValidationError

__all__ = ["NETWORKS", "Network", "network_named"]


@dataclass(frozen=True, slots=True)
class Network:
    """One network: its public services and the foreign networks behind it.

    `bitcoin` names the rules for Bitcoin addresses, `tokens` the network whose token contracts are used.
    """

    name: str
    backend_url: str
    rpc_url: str
    bitcoin: str
    evm_chain_ids: Mapping[str, int]
    tokens: str

    @property
    def is_mainnet(self) -> bool:
        """Whether the network swaps real money."""
        return self.name == "mainnet"

    @property
    def is_one_server(self) -> bool:
        """Whether one address is node, broker and swap service: that of a development chain."""
        return self.name == "dev"


_SEPOLIA = {"Ethereum": 11_155_111, "Arbitrum": 421_614, "Tron": 3_448_148_188, "Bsc": 97}
_LOCAL = {"Ethereum": 10_997, "Arbitrum": 412_346, "Tron": 4_271_970_548, "Bsc": 343}

NETWORKS: dict[str, Network] = {
    network.name: network
    for network in (
        Network(
            "mainnet",
            "https://chainflip-swap.chainflip.io",
            "https://rpc.mainnet.chainflip.io",
            "Mainnet",
            {"Ethereum": 1, "Arbitrum": 42_161, "Tron": 728_126_428, "Bsc": 56},
            "mainnet",
        ),
        Network(
            "perseverance",
            "https://chainflip-swap-perseverance.chainflip.io",
            "https://archive.perseverance.chainflip.io",
            "Testnet",
            _SEPOLIA,
            "perseverance",
        ),
        Network(
            "sisyphos",
            "https://chainflip-swap.staging",
            "https://archive.sisyphos.chainflip.io",
            "Testnet",
            _SEPOLIA,
            "sisyphos",
        ),
        Network(
            "backspin",
            "https://chainflip-swap-backspin.staging",
            "https://rpc.backspin.chainflip.io",
            "Development",
            _LOCAL,
            "backspin",
        ),
        Network(
            "dev",
            "http://127.0.0.1:9944",
            "http://127.0.0.1:9944",
            "Development",
            _LOCAL | {"Tron": 3_448_148_188},
            "mainnet",
        ),
    )
}


def network_named(name: str) -> Network:
    """Return the network of a name; raise ValidationError, which lists the valid names."""
    if name not in NETWORKS:
        raise ValidationError("network", unknown_value("network", name, NETWORKS))
    return NETWORKS[name]
