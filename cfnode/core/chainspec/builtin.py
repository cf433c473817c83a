"""Chain specifications that are known without a file: Berghain, the Chainflip main net.

Berghain is here in light form: facts of its official raw chain specification. A test derives every one of
them from that file.
"""

from __future__ import annotations

from collections.abc import Mapping

from cfnode.core.chainspec.errors import ChainSpecError
from cfnode.core.chainspec.model import ChainSpec, LightGenesis
from cfnode.core.suggestions import did_you_mean

__all__ = ["BERGHAIN", "BERGHAIN_GENESIS", "BUILT_IN", "false_name", "unknown_chain"]

BERGHAIN = ChainSpec(
    name="Chainflip-Berghain",
    id="Chainflip-Berghain",
    chain_type="Live",
    boot_nodes=(
        "/ip4/138.68.126.239/tcp/30333/p2p/12D3KooWPWqdeeWGjycVLiy6drp2P9ghozqbe9o57Fjvj39QFHaF",
        "/ip4/146.190.189.21/tcp/30333/p2p/12D3KooWHrjEjYQwm8gEKrp4djHvXascpG8E3sRNGbNtwaLGxPy3",
        "/ip4/139.59.221.101/tcp/30333/p2p/12D3KooWAuvxnKDKeruz5KrPQkedLd6TLsnxtEv7EXzkdUHdHTCw",
    ),
    genesis=LightGenesis(
        state_root=bytes.fromhex("ceb969ab679b7db5c793e8d0aa42c6284c0c05e183a728440946660810ee3b8d"),
        grandpa_authorities=(
            (bytes.fromhex("99cca386ea50fb33d2eee5ebd5574759facb17ddd55241e246b59567f6878242"), 1),
            (bytes.fromhex("c2729cfb8507558af71474e9610071585e4ae02c5418e053cdc25106628f9810"), 1),
            (bytes.fromhex("5e52d11949673e9ba3a6e3e11c0fc0537bc588de8ac61d41cf04e0ff43dc39a1"), 1),
        ),
    ),
    protocol_id="flip-berghain-6551fd46",
    properties={"color": "#61CFAA", "ss58Format": 2112, "tokenDecimals": 18, "tokenSymbol": "FLIP"},
)
BERGHAIN_GENESIS = bytes.fromhex("8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9")
"""The hash of Berghain's first block."""

BUILT_IN: Mapping[str, ChainSpec] = {"berghain": BERGHAIN}
"""Chains by the name that `--chain` takes. The development chain is made by the development runtime."""


def unknown_chain(chain: str, source: str) -> ChainSpecError:
    """Return the error for a chain that is neither built in nor a file; `source` is what named it."""
    names = ("dev", *BUILT_IN)
    hint = did_you_mean(chain, names)
    text = "no such file, and not a built-in chain"
    step = f".{hint}" if hint else f": give the path of a chain specification, or {' or '.join(names)}"
    return ChainSpecError(source, "", text + step)


def false_name(spec: ChainSpec, genesis_hash: bytes) -> str | None:
    """Return a warning if a specification has the name of Berghain, but not its genesis or first authorities.

    `genesis_hash` is that of the specification. Only the genesis tells chains apart; a name is free to
    choose.
    """
    if not any("berghain" in text.casefold() for text in (spec.name, spec.id)):
        return None
    advice = "Start with --chain=berghain for the Chainflip main net"
    if genesis_hash != BERGHAIN_GENESIS:
        return (
            f"The chain specification is named {spec.name} (id {spec.id}), but it is not the Chainflip main "
            f"net: its genesis is 0x{genesis_hash.hex()}, not 0x{BERGHAIN_GENESIS.hex()}. {advice}"
        )
    if isinstance(spec.genesis, LightGenesis) and spec.genesis != BERGHAIN.genesis:
        return (
            f"The chain specification {spec.name} has the genesis of the Chainflip main net, but other first "
            f"authorities: they can sign another chain. {advice}"
        )
    return None
