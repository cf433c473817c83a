"""Which chain is meant, and how does its database begin?

The chain is a built-in one, the development chain as its flags make it, or a specification in a file.
In light-RPC mode the database is deleted and made anew at each start, as in the official node; only the
database ever is.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path

from cfnode.core.chainspec import BUILT_IN, ChainSpec, ChainSpecError, RawGenesis, genesis_header
from cfnode.core.header import Header
from cfnode.node.authorities import AuthorityKeys
from cfnode.node.config import Config, DevConfig, EvmContracts
from cfnode.runtime.dev.config import (
    ARBITRUM,
    ETHEREUM,
    TRON,
    DevAuthority,
    DevGenesis,
    EvmAddresses,
)
from cfnode.runtime.dev.genesis import dev_chain_spec
from cfnode.store import Pruning, Store, StoreError
from cfnode.store.base_path import ChainPaths, delete_database, open_database_path
from cfnode.store.spec_file import read_spec

log = logging.getLogger("cfnode.service")
database_log = logging.getLogger("cfnode.db")

DEVELOPMENT = "dev"


def load_spec(config: Config, authorities: Sequence[AuthorityKeys]) -> ChainSpec:
    """The chain that `config.chain` names. Raises ChainSpecError. Reads a file: call it in a thread."""
    if config.chain == DEVELOPMENT:
        return dev_chain_spec(dev_genesis(config.dev or DevConfig(), authorities))
    if config.chain in BUILT_IN:
        return BUILT_IN[config.chain]
    if not Path(config.chain).exists():
        names = ", ".join([DEVELOPMENT, *BUILT_IN])
        raise ChainSpecError(config.chain, "", f"neither a built-in chain ({names}) nor a file")
    return read_spec(Path(config.chain))


def dev_genesis(dev: DevConfig, authorities: Sequence[AuthorityKeys]) -> DevGenesis:
    """The flags that lie in genesis; the defaults give the one genesis of `dev`."""
    named = () if dev.authorities in (None, "1") else authorities
    return DevGenesis(
        authorities=tuple(DevAuthority(keys.aura.public, keys.grandpa.public, keys.weight) for keys in named),
        epoch_blocks=dev.epoch_blocks,
        state_entries=dev.state_entries,
        ethereum=_contracts(ETHEREUM, dev.contracts.ethereum),
        arbitrum=_contracts(ARBITRUM, dev.contracts.arbitrum),
        tron=_contracts(TRON, dev.contracts.tron),
    )


def _contracts(usual: EvmAddresses, stated: EvmContracts) -> EvmAddresses:
    given = {field.name: getattr(stated, field.name) for field in fields(stated)}
    return replace(usual, **{name: value for name, value in given.items() if value is not None})


def open_store(config: Config, spec: ChainSpec, paths: ChainPaths) -> Store:
    """The chain's store, begun with its genesis where it is new. Raises StoreError. Call it in a thread."""
    renewed = config.sync == "light-rpc"
    if renewed:
        log.info("⚡  Light-RPC mode enabled")
        if delete_database(paths):
            database_log.info("🗑️  Database deleted and recreated: %s begins anew", spec.name)
    path = open_database_path(paths)
    log.info("💾 Database: LMDB at %s", path)
    pruning = Pruning(config.pruning.blocks, config.pruning.state)
    store = Store.open(path, pruning=pruning, sync=not (renewed or config.temporary))
    try:
        _begin(store, spec, path)
    except BaseException:
        store.close()
        raise
    return store


def _begin(store: Store, spec: ChainSpec, path: Path) -> None:
    header = genesis_header(spec)
    known = store.genesis_hash
    if known is None:
        if isinstance(spec.genesis, RawGenesis):
            store.initialise(header, spec.genesis.top, spec.genesis.children)
        else:
            store.initialise(header, None)
        _log_genesis(header)
    elif known != header.hash:
        raise StoreError(
            f"the database in {path} holds another chain (genesis 0x{known.hex()}, "
            f"not 0x{header.hash.hex()}): delete it with cfnode purge-chain, or give another --base-path"
        )


def _log_genesis(header: Header) -> None:
    root, block = header.state_root.hex(), header.hash.hex()
    log.info(
        "🔨 Initializing Genesis block/state (state: 0x%s…%s, header-hash: 0x%s…%s)",
        root[:4], root[-4:], block[:4], block[-4:],
    )  # fmt: skip
