"""Copies of a chain specification on which the engine can act, with keys that it knows.

`build-spec --engine` writes, in the types of the chain's own metadata:

1. the aggregate key of the present epoch of each scheme, and Polkadot's vault where the chain has none yet;
2. what an authority needs to be chosen again at a rotation: a bid, a peer, a version, sets of any size;
3. the switch that admits brokers and liquidity providers, which early releases have.

What cannot work on such a chain is listed, and stays as it is: safe mode that stops something, ceremonies
that run, deposit addresses made under keys that are unknown here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from cfnode.core.chainspec.errors import ChainSpecError
from cfnode.core.chainspec.model import ChainSpec, RawGenesis
from cfnode.core.chainspec.rewriting import ItemContent, Part, Present, Rewritten, rewrite
from cfnode.core.scale import ScaleError
from cfnode.core.scale.metadata import Metadata
from cfnode.devchain.engine.names import CHAINS, SIGNERS
from cfnode.devchain.engine.signing import SCHEMES
from cfnode.devchain.runtime.keys import ASSETHUB_VAULT

__all__ = ["limits", "with_engine"]

PEER: Final = (0, 0)
"""Port and address of an authority's peer, to which no connection is made."""


def with_engine(
    spec: ChainSpec, metadata: Metadata, accounts: Sequence[bytes]
) -> tuple[ChainSpec, list[Rewritten]]:
    """Return a chain of these authorities whose aggregate keys are known, and the items that were written.

    Raises ChainSpecError where the genesis is not raw, or an item has an unknown shape.
    """
    if not isinstance(spec.genesis, RawGenesis):
        raise ChainSpecError(spec.id, "genesis", "holds no state: a raw chain specification is needed")
    top = dict(spec.genesis.top)
    present, rewritten = Present(metadata, top), list[Rewritten]()
    try:
        for part in (_keys(present), _candidates(present, accounts), _admissions(present)):
            for name, change in part:
                if present.has(*name):
                    rewritten.append(rewrite(top, metadata, metadata.storage(*name), change))
    except ScaleError as error:
        raise ChainSpecError(spec.id, "genesis", str(error)) from error
    return replace(spec, genesis=RawGenesis(top, spec.genesis.children)), rewritten


def _keys(present: Present) -> Part:
    epoch = present.value("Validator", "CurrentEpoch")
    for scheme, chain in SIGNERS.items():
        key = SCHEMES[scheme].generated(epoch)
        signer, vault = f"{scheme}ThresholdSigner", f"{chain}Vault"
        yield (signer, "Keys"), ItemContent({(epoch,): key}, keep=True)
        yield (signer, "CurrentKeyEpoch"), ItemContent({(): epoch})
        yield (signer, "PendingKeyRotation"), ItemContent({})
        yield (vault, "Vaults"), ItemContent({(epoch,): {"public_key": key}}, keep=True)
        yield (
            (vault, "CurrentVaultEpochAndState"),
            ItemContent({(): {"epoch_index": epoch, "key_state": "Unlocked"}}),
        )
        yield (vault, "PendingVaultRotation"), ItemContent({})
    dot_vault = ("Environment", "PolkadotVaultAccountId")
    if present.has(*dot_vault) and present.value(*dot_vault) is None:
        yield dot_vault, ItemContent({(): ASSETHUB_VAULT})


def _candidates(present: Present, accounts: Sequence[bytes]) -> Part:
    """Yield what makes the accounts, and no other, the next authorities."""
    peers = {(account,): (account, *PEER) for account in accounts}
    yield ("Validator", "AccountPeerMapping"), ItemContent(peers, keep=True)
    yield ("Validator", "MappedPeers"), ItemContent({(account,): () for account in accounts}, keep=True)
    if present.has("Validator", "MinimumReportedCfeVersion"):
        version = present.value("Validator", "MinimumReportedCfeVersion")
        yield (
            ("Validator", "NodeCFEVersion"),
            ItemContent({(account,): version for account in accounts}, keep=True),
        )
    yield ("Validator", "AuthoritySetMinSize"), ItemContent({(): 1})
    yield ("Validator", "AuctionParameters"), ItemContent({(): {"min_size": 1}})
    yield ("Validator", "ActiveBidder"), ItemContent({(): list(accounts)})
    yield ("Funding", "ActiveBidder"), ItemContent({(account,): True for account in accounts})
    yield ("Reputation", "Suspensions"), ItemContent({})


def _admissions(_present: Present) -> Part:
    yield ("AccountRoles", "SwappingEnabled"), ItemContent({(): True})


def limits(genesis: RawGenesis, metadata: Metadata) -> Iterator[str]:
    """Yield, one sentence each, what does not work on a chain that begins with this state."""
    present = Present(metadata, genesis.top)
    has_safe_mode = present.has("Environment", "RuntimeSafeMode")
    stopped = sorted(_stopped(present.value("Environment", "RuntimeSafeMode"))) if has_safe_mode else []
    if not has_safe_mode:
        yield "this release has no safe mode"
    elif stopped:
        yield f"safe mode stops {', '.join(stopped)}; `cfnode dev govern` can change it"
    else:
        yield "safe mode stops nothing"
    for scheme, chain in SIGNERS.items():
        for pallet in (f"{scheme}ThresholdSigner", f"{chain}ThresholdSigner"):
            if running := _count(present, metadata, genesis, (pallet, "PendingCeremonies")):
                yield f"{pallet}: {running} ceremonies under earlier keys run out before they are repeated"
                break
    for chain in CHAINS:
        if channels := _count(present, metadata, genesis, (f"{chain}IngressEgress", "DepositChannelLookup")):
            yield f"{chain}: {channels} deposit channels have addresses made under earlier keys"
    lacking = [pallet.name for pallet in metadata.pallets if pallet.name.endswith("Elections")]
    if lacking:
        yield f"the engine votes in no elections, and these decide what is witnessed: {', '.join(lacking)}"


def _stopped(value: Any, path: str = "") -> Iterable[str]:
    if isinstance(value, Mapping):
        for name, member in value.items():
            yield from _stopped(member, f"{path}.{name}" if path else name)
    elif value is False or value == "CodeRed":
        yield path


def _count(present: Present, metadata: Metadata, genesis: RawGenesis, name: tuple[str, str]) -> int:
    if not present.has(*name):
        return 0
    prefix = metadata.storage(*name).prefix
    return sum(key.startswith(prefix) for key in genesis.top)
