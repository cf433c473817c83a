"""Which chains are known without a file?

Berghain, the Chainflip main net, in light form: facts of its official raw chain specification. A test derives
every one of them from that file.
"""

from __future__ import annotations

from collections.abc import Mapping

from cfnode.core.chainspec.model import ChainSpec, LightGenesis

__all__ = ["BERGHAIN", "BUILT_IN"]

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
"""Genesis hash 0x8b8c140b0af9db70686583e3f6bf2a59052bfe9584b97d20c45068281e976eb9."""

BUILT_IN: Mapping[str, ChainSpec] = {"berghain": BERGHAIN}
"""Chains by the name that `--chain` takes. The development chain is made by the development runtime."""
