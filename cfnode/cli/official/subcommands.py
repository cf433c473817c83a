"""Subcommands of the official node, and the counterpart of each in cfnode.

cfnode keeps a window of recent blocks and their states and verifies with proofs, so what walks a whole chain
has no counterpart: these subcommands end with a sentence that says what to do instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cfnode.cli.official.flags import BY_NAME, DATABASE, LOGGING, NODE_KEY, PRUNING, Flag, Takes, Treatment

__all__ = ["MISSING", "SUBCOMMANDS", "Subcommand"]


@dataclass(frozen=True, slots=True)
class Subcommand:
    """Subcommand of the official node.

    `here`: what cfnode has instead. `flags`: those of the official subcommand, each of which is accepted here
    unless it is refused with a reason. `is_missing`: whether the command ends with the sentence of `here`.
    """

    name: str
    here: str
    flags: tuple[Flag, ...] = ()
    is_missing: bool = False


_SAME: Final = "the same"
_ONE: Final = Takes.ONE


def _of_run(*names: str) -> tuple[Flag, ...]:
    """Return flags that the official node itself has, too."""
    return tuple(BY_NAME[name] for name in names)


_SHARED: Final = _of_run("--chain", "--dev", "--base-path", *LOGGING)
_STORED: Final = _of_run(*PRUNING, *DATABASE)
_KEYSTORE: Final = (
    *_of_run("--keystore-path"),
    Flag("--password-interactive"),
    Flag("--password", _ONE),
    Flag("--password-filename", _ONE),
)
_NETWORK: Final = Flag("--network", _ONE, short="-n", in_any_case=True)
_OUTPUT_TYPE: Final = Flag("--output-type", _ONE, values=("json", "text"), in_any_case=True, default="text")
_SCHEMES: Final = ("ed25519", "sr25519", "ecdsa")
_SCHEME: Final = Flag("--scheme", _ONE, values=_SCHEMES, in_any_case=True, default="sr25519")
_EXPORTS: Final = "`cfnode export-chain-spec --chain dev` prints a built-in one"

SUBCOMMANDS: Final = (
    Subcommand("help", _SAME),
    Subcommand("key generate", "as `chainflip-node`, or with --network, --scheme or a password: the same; "
               "else the keys of `chainflip-cli generate-keys`",
               (Flag("--words", _ONE, short="-w", values=("12", "15", "18", "21", "24"), default="12"),
                *_KEYSTORE, _NETWORK, _OUTPUT_TYPE, _SCHEME)),
    Subcommand("key generate-node-key", _SAME,
               (Flag("--file", _ONE), Flag("--bin"), *_of_run("--chain"), Flag("--base-path", _ONE),
                Flag("--default-base-path"))),
    Subcommand("key insert", "the same; --key-type and --scheme have defaults",
               (Flag("--suri", _ONE), Flag("--key-type", _ONE), *_SHARED, *_KEYSTORE, _SCHEME)),
    Subcommand("key inspect", _SAME,
               (Flag("--public"), Flag("--expect-public", _ONE), *_KEYSTORE, _NETWORK, _OUTPUT_TYPE,
                _SCHEME)),
    Subcommand("key inspect-node-key", _SAME,
               (Flag("--file", _ONE), Flag("--bin"), _NETWORK)),
    Subcommand("build-spec", "replaces the authorities of a raw chain specification; `export-chain-spec` "
               "prints one",
               (Flag("--raw"), Flag("--disable-default-bootnode"), *_of_run(*NODE_KEY),
                *(flag for flag in _SHARED if flag.name != "--dev"),
                Flag("--dev", treatment=Treatment.REFUSED, note=_EXPORTS))),
    Subcommand("export-chain-spec", "always raw",
               (*_of_run("--chain"), Flag("--output", _ONE), Flag("--raw"))),
    Subcommand("export-state", "of the last final block",
               (*_SHARED, *_STORED)),
    Subcommand("purge-chain", _SAME,
               (Flag("-y"), *_SHARED, *_of_run(*DATABASE))),
    Subcommand("chain-info", _SAME,
               (*_SHARED, *_STORED)),
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
