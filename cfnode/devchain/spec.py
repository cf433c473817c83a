"""Chain spec of the development chain, or of any other chain."""

from __future__ import annotations

from collections.abc import Sequence

from cfnode.core.chainspec import ChainSpec
from cfnode.devchain.authorities import AuthorityKeys
from cfnode.devchain.config import DevConfig
from cfnode.node.genesis import load_spec as load_other
from cfnode.runtime.imports import without_collection

__all__ = ["DEVELOPMENT", "load_spec"]

DEVELOPMENT = "dev"


def load_spec(chain: str, dev: DevConfig | None, authorities: Sequence[AuthorityKeys]) -> ChainSpec:
    """Load the chain spec of that name: the development chain, or any other.

    Raises ChainSpecError. Reads a file: call it in a thread.
    """
    if chain == DEVELOPMENT:
        with without_collection():
            # Imported late: the runtime is large, and a node of another chain never needs it.
            from cfnode.devchain.genesis import dev_spec

        return dev_spec(dev or DevConfig(), authorities)
    return load_other(chain)
