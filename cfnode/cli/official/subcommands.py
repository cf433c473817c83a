"""Subcommands of the official node, and the counterpart of each in cfnode.

cfnode keeps a window of recent blocks and their states and verifies with proofs, so what walks a whole chain
has no counterpart: these subcommands end with a sentence that says what to do instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["MISSING", "SUBCOMMANDS", "Subcommand"]


@dataclass(frozen=True, slots=True)
class Subcommand:
    """Subcommand of the official node.

    `here`: what cfnode has instead. `is_missing`: whether the command ends with that sentence.
    """

    name: str
    here: str
    is_missing: bool = False


_SAME: Final = "the same"

SUBCOMMANDS: Final = (
    Subcommand("key generate", "as `chainflip-node`, or with --network, --scheme or a password: the same; "
               "else the keys of `chainflip-cli generate-keys`"),
    Subcommand("key generate-node-key", _SAME),
    Subcommand("key insert", "the same; --key-type and --scheme have defaults"),
    Subcommand("key inspect", _SAME),
    Subcommand("key inspect-node-key", _SAME),
    Subcommand("build-spec", "replaces the authorities of a raw chain specification; `export-chain-spec` "
               "prints one"),
    Subcommand("export-chain-spec", "always raw"),
    Subcommand("export-state", "of the last final block"),
    Subcommand("purge-chain", _SAME),
    Subcommand("chain-info", _SAME),
    Subcommand(
        "check-block",
        "cfnode verifies each block when it arrives; `cfnode run` does it again after `cfnode purge-chain`",
        is_missing=True,
    ),
    Subcommand(
        "export-blocks",
        "cfnode keeps a window of recent blocks; read them with `cfnode rpc chain_getBlock HASH`, or the "
        "whole chain from an archive node",
        is_missing=True,
    ),
    Subcommand(
        "import-blocks",
        "cfnode downloads a proven state instead; run it with --sync=warp, or give it a peer that has the "
        "blocks (--reserved-nodes)",
        is_missing=True,
    ),
    Subcommand(
        "revert",
        "cfnode never leaves a final block; delete its database with `cfnode purge-chain`: it syncs again",
        is_missing=True,
    ),
    Subcommand(
        "benchmark",
        "it measures the official node's own runtime on a machine: use the official binary",
        is_missing=True,
    ),
)  # fmt: skip
MISSING: Final = {subcommand.name: subcommand.here for subcommand in SUBCOMMANDS if subcommand.is_missing}
