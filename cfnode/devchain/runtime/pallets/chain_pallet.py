"""Base classes and factories of the pallets that exist once for each foreign chain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import ClassVar, TypeVar

from cfnode.devchain.runtime.chains import CHAIN_INSTANCES, ChainInstance
from cfnode.devchain.runtime.frame import Pallet, PalletRuntime, PalletStorage, part
from cfnode.devchain.runtime.releases import Release

P = TypeVar("P", bound="ChainPallet")
S = TypeVar("S", bound="ChainStorage")


class ChainPallet(Pallet):
    """A pallet that belongs to one foreign chain; `chain` says which one and in what it differs.

    On an instance it is the chain as the release has it.
    """

    chain: ClassVar[ChainInstance]

    def __init__(self, runtime: PalletRuntime) -> None:
        self.__dict__["chain"] = runtime.release.chains[self.chain.name]
        super().__init__(runtime)

    @classmethod
    def names_in(cls, release: Release) -> Mapping[str, str]:
        """Return the chain's types in a release, by the names that the pallet's expressions use."""
        return release.chains[cls.chain.name].names


class ChainStorage(PalletStorage):
    """What a pallet of one foreign chain keeps; `chain` is the chain as the release has it."""

    def __init__(self, pallet: ChainPallet) -> None:
        super().__init__(pallet)
        self.chain = pallet.chain


def storage_per_chain(kind: type[S]) -> dict[str, type[S]]:
    """Return a storage class for each chain; `other` finds the storage of the chain by it."""
    return {
        name: type(f"{name}{kind.__name__}", (kind,), {"names": chain.names, "__doc__": kind.__doc__})
        for name, chain in CHAIN_INSTANCES.items()
    }


def per_chain(
    kind: type[P],
    index: Callable[[ChainInstance], int],
    storage: Mapping[str, type[ChainStorage]] = MappingProxyType({}),
) -> dict[str, type[P]]:
    """Return a pallet class for each chain, in hook order: `EthereumVault`, `PolkadotVault`, ….

    All are made from one class. Each has the class in `storage` of its chain, if any, as its part `storage`.
    """
    return {
        name: type(
            f"{name}{kind.__name__}",
            (kind,),
            {"index": index(chain), "chain": chain, "names": chain.names, "__doc__": kind.__doc__}
            | ({"storage": part(storage[name])} if storage else {}),
        )
        for name, chain in CHAIN_INSTANCES.items()
    }
