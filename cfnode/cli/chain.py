"""Which chain does `--chain` mean?"""

from __future__ import annotations

from pathlib import Path

__all__ = ["BUILT_IN_NAMES", "DEV", "resolve_chain_id"]

DEV = "dev"
BUILT_IN_NAMES = (DEV, "berghain")


def resolve_chain_id(chain: str) -> str:
    """The id, which names the chain's directory, of a built-in chain or of a chain specification file.

    Raises ChainSpecError.
    """
    from cfnode.core.chainspec import BUILT_IN, ChainSpecError
    from cfnode.store.spec_file import read_spec

    if chain == DEV:
        return DEV
    if chain in BUILT_IN:
        return BUILT_IN[chain].id
    if not Path(chain).exists():
        names = " and ".join(BUILT_IN_NAMES)
        raise ChainSpecError(
            f"--chain {chain}", "", f"{names} are built in, and there is no file of that name"
        )
    return read_spec(Path(chain)).id
