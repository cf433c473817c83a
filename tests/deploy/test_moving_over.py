"""A volume of the official node starts with cfnode; keys and identity stay, and there is a way back."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from cfnode.cli.chain import resolve_chain_id
from cfnode.core.keys import Keypair
from cfnode.store.base_path import ChainPaths
from cfnode.store.official_database import set_aside_official_database
from tests.deploy.programs import output_of, program
from tests.process import command, environment, running_node
from tests.support.store.official import names, with_rocksdb

pytestmark = pytest.mark.world

NODE_SECRET = bytes(range(32))


@pytest.fixture
def chain(tmp_path: Path) -> str:
    """Return --chain=… of the main net, without its boot nodes: no test dials them."""
    printed = subprocess.run(
        command("export-chain-spec", "--chain=berghain"), capture_output=True, check=True, timeout=60
    )
    file = tmp_path / "berghain.chainspec.json"
    file.write_text(json.dumps(json.loads(printed.stdout) | {"bootNodes": []}))
    return f"--chain={file}"


def official_volume(base: Path) -> ChainPaths:
    """Make a volume of the official node: its database, a broker key, its identity."""
    paths = with_rocksdb(ChainPaths(base, resolve_chain_id("berghain")))
    paths.keystore.mkdir(mode=0o700)
    broker = Keypair.from_suri("//Alice")
    file = paths.keystore / f"62726f6b{broker.public.hex()}"
    file.write_text(json.dumps("//Alice"))
    file.chmod(0o600)
    paths.network.mkdir()
    (paths.network / "secret_ed25519").write_bytes(NODE_SECRET)
    (paths.network / "secret_ed25519").chmod(0o600)
    return paths


def test_a_volume_of_the_official_node_starts(tmp_path: Path, chain: str) -> None:
    """Start on a volume of the official node: its database is moved aside, key and identity stay."""
    paths = official_volume(tmp_path / "base")
    flags = (
        "--chain=berghain",
        "--sync=light-rpc",
        "--rpc-methods=safe",
        "--listen-addr=/ip4/127.0.0.1/tcp/0",
    )
    with running_node(tmp_path, f"--base-path={paths.base}", *flags) as node:
        assert "The official node's database was moved to " in node.log
        assert "Broker key found in the keystore" in node.log
        assert node.call("system_localPeerId") in node.log
        assert node.stop() == 0
    aside = paths.database.with_name("full_light.rocksdb-1")
    assert aside.is_dir()
    assert names(paths.database) == ["data.mdb", "lock.mdb"]
    assert (paths.network / "secret_ed25519").read_bytes() == NODE_SECRET

    with running_node(tmp_path, f"--base-path={paths.base}", *flags, log_name="second.log") as node:
        assert "was moved to" not in node.log
        assert node.stop() == 0


def test_the_way_back_leaves_the_official_database_in_its_place(tmp_path: Path, chain: str) -> None:
    """Restore the official database for the way back, with the key still there."""
    paths = official_volume(tmp_path / "base")
    before = names(paths.database)
    with running_node(tmp_path, f"--base-path={paths.base}", chain) as node:
        assert node.stop() == 0
    purge = command("purge-chain", chain, f"--base-path={paths.base}", "-y")
    subprocess.run(purge, env=environment(tmp_path), check=True, timeout=60)
    paths.database.with_name("full_light.rocksdb-1").rename(paths.database)
    assert names(paths.database) == before
    assert len(names(paths.keystore)) == 1


def test_a_backup_of_keystore_and_node_key_restores_the_node(tmp_path: Path, chain: str) -> None:
    """Restore a node from a backup of keystore and node key, with its identity."""
    paths = official_volume(tmp_path / "base")
    restored = ChainPaths(tmp_path / "restored", paths.chain_id)
    for folder in (paths.keystore, paths.network):
        shutil.copytree(folder, restored.base / folder.relative_to(paths.base))
    identities = []
    for base in (paths.base, restored.base):
        with running_node(tmp_path, f"--base-path={base}", chain) as node:
            assert "Broker key found in the keystore" in node.log
            identities.append(node.call("system_localPeerId"))
            assert node.stop() == 0
    assert identities[0] == identities[1]


def test_a_real_rocksdb_database_is_still_whole_when_it_was_set_aside(tmp_path: Path) -> None:
    """Leave a real RocksDB database readable when it is set aside."""
    ldb = program("ldb", "rocksdb-tools")
    paths = ChainPaths(tmp_path / "base", "Chainflip-Berghain")
    paths.database.parent.mkdir(parents=True)
    output_of(ldb, f"--db={paths.database}", "--create_if_missing", "put", "block", "10260208")
    aside = set_aside_official_database(paths)
    assert aside is not None
    assert output_of(ldb, f"--db={aside}", "get", "block") == "10260208\n"
