"""How does one pallet class become one pallet for each foreign chain?"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeVar

from cfnode.runtime.dev.chains import CHAIN_INSTANCES, ChainInstance
from cfnode.runtime.dev.frame import Pallet

P = TypeVar("P", bound="ChainPallet")


class ChainPallet(Pallet):
    """A pallet that belongs to one foreign chain; `chain` says which one and in what it differs."""

    chain: ClassVar[ChainInstance]


def per_chain(kind: type[P], index: Callable[[ChainInstance], int]) -> dict[str, type[P]]:
    """The pallets made from one class: `EthereumVault`, `PolkadotVault`, …, by chain, in hook order."""
    return {
        name: type(
            f"{name}{kind.__name__}",
            (kind,),
            {"index": index(chain), "chain": chain, "names": chain.names, "__doc__": kind.__doc__},
        )
        for name, chain in CHAIN_INSTANCES.items()
    }
