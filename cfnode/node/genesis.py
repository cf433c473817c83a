"""Chain specification and database of a node: loading the one, opening the other.

The chain is a built-in one or a specification in a file. In light-RPC mode the database, and nothing else, is
deleted and created again at each start, as in the official node. A database of the official node at the same
place is moved aside.
"""

from __future__ import annotations

import logging
from pathlib import Path

from cfnode.core.chainspec import BUILT_IN, ChainSpec, RawGenesis, genesis_header, unknown_chain
from cfnode.core.header import Header
from cfnode.node.config import Config
from cfnode.store import Pruning, Store, StoreError
from cfnode.store.base_path import ChainPaths, delete_database, open_database_path
from cfnode.store.official_database import set_aside_official_database
from cfnode.store.spec_file import read_spec

log = logging.getLogger("cfnode.service")
database_log = logging.getLogger("cfnode.db")


def load_spec(chain: str) -> ChainSpec:
    """Return a built-in chain by its name, or the specification in the file of that path.

    Raise ChainSpecError. Reads a file: call it in a thread.
    """
    if chain in BUILT_IN:
        return BUILT_IN[chain]
    if not Path(chain).exists():
        raise unknown_chain(chain, chain)
    return read_spec(Path(chain))


def open_store(config: Config, spec: ChainSpec, paths: ChainPaths) -> Store:
    """Return the chain's store; initialize a new one with the genesis. Raise StoreError.

    Slow: call it in a thread.
    """
    aside = set_aside_official_database(paths)
    if aside is not None:
        database_log.warning(
            "The official node's database was moved to %s. cfnode does not use it: "
            "keep it for a way back, or delete it to free its space",
            aside,
        )
    renewed = config.sync == "light-rpc"
    if renewed:
        log.info("⚡  Light-RPC mode enabled")
        if delete_database(paths):
            database_log.info("🗑️  Database deleted and recreated: %s starts from genesis", spec.name)
    path = open_database_path(paths)
    log.info("💾 Database: LMDB at %s", path)
    pruning = Pruning(config.pruning.blocks, config.pruning.state)
    store = Store.open(path, pruning=pruning, sync=not (renewed or config.temporary))
    try:
        _initialise_or_check(store, spec, path)
    except BaseException:
        store.close()
        raise
    return store


def _initialise_or_check(store: Store, spec: ChainSpec, path: Path) -> None:
    """Write the genesis block into an empty store; of any other store, check the genesis hash.

    `path` is the database folder, for the error. Raise StoreError if the store holds another chain.
    """
    header = genesis_header(spec)
    genesis_hash = store.genesis_hash
    if genesis_hash is None:
        if isinstance(spec.genesis, RawGenesis):
            store.initialise(header, spec.genesis.top, spec.genesis.children)
        else:
            store.initialise(header, None)
        _log_genesis(header)
    elif genesis_hash != header.hash:
        raise StoreError(
            f"the database in {path} holds another chain (genesis 0x{genesis_hash.hex()}, "
            f"not 0x{header.hash.hex()}): delete it with cfnode purge-chain, or use another --base-path"
        )


def _log_genesis(header: Header) -> None:
    root, block = header.state_root.hex(), header.hash.hex()
    log.info(
        "🔨 Initializing Genesis block/state (state: 0x%s…%s, header-hash: 0x%s…%s)",
        root[:4], root[-4:], block[:4], block[-4:],
    )  # fmt: skip
