"""How does one pallet class become one pallet for each foreign chain?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, TypeVar

from cfnode.devchain.runtime.chains import CHAIN_INSTANCES, ChainInstance
from cfnode.devchain.runtime.frame import Composition, Pallet
from cfnode.devchain.runtime.releases import Release

P = TypeVar("P", bound="ChainPallet")


class ChainPallet(Pallet):
    """A pallet that belongs to one foreign chain; `chain` says which one and in what it differs.

    On an instance it is the chain as the release has it.
    """

    chain: ClassVar[ChainInstance]

    def __init__(self, runtime: Composition) -> None:
        self.__dict__["chain"] = runtime.release.chains[self.chain.name]
        super().__init__(runtime)

    @classmethod
    def names_in(cls, release: Release) -> Mapping[str, str]:
        return release.chains[cls.chain.name].names


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
