"""Which chain a name means, and the deletion of its database."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfnode.cli.chain import BUILT_IN_NAMES, export_chain_spec, purge_chain, resolve_chain_id
from cfnode.cli.exits import CommandFailure
from cfnode.cli.output import written_to
from cfnode.core.chainspec import BERGHAIN, BUILT_IN, ChainSpecError, genesis_hash, parse, to_json, to_light
from cfnode.store.base_path import locked


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Return a database of the development chain, next to a keystore."""
    path = tmp_path / "chains" / "dev" / "db" / "full_light"
    path.mkdir(parents=True)
    (path / "data.mdb").write_bytes(b"data")
    keystore = tmp_path / "chains" / "dev" / "keystore"
    keystore.mkdir()
    (keystore / "key").write_text("secret")
    return path


def purge(base: Path, *arguments: str, stdin: str | None = None) -> Result:
    """Run `purge-chain --dev` below a base path."""
    line = ["--dev", "--base-path", str(base), *arguments]
    return CliRunner().invoke(purge_chain, line, input=stdin, catch_exceptions=False)


def test_built_in_names_and_files_give_the_id(tmp_path: Path) -> None:
    """Take the id from a name that is built in or from a file."""
    (tmp_path / "spec.json").write_text(to_json(BERGHAIN))
    assert resolve_chain_id("dev") == "dev"
    assert resolve_chain_id("berghain") == "Chainflip-Berghain"
    assert resolve_chain_id(str(tmp_path / "spec.json")) == "Chainflip-Berghain"
    assert set(BUILT_IN_NAMES) == {"dev", *BUILT_IN}


@pytest.mark.parametrize(("chain", "words"), [("berghian", "built-in"), ("/proc/self/mem", "cannot be read")])
def test_an_unknown_chain_is_an_error(chain: str, words: str) -> None:
    """Refuse a misspelled name and an unreadable file, with the built-in names or the reason."""
    with pytest.raises(ChainSpecError, match=words):
        resolve_chain_id(chain)


def test_only_the_database_is_deleted(tmp_path: Path, database: Path) -> None:
    """Delete the database and leave the keystore next to it; a second run says that there is none."""
    result = purge(tmp_path, "-y")
    assert (result.exit_code, result.stderr) == (0, f"{database} deleted\n")
    assert not database.exists()
    assert (tmp_path / "chains" / "dev" / "keystore" / "key").read_text() == "secret"
    assert purge(tmp_path, "-y").stderr == f"{database} does not exist\n"


def test_it_asks_first(tmp_path: Path, database: Path) -> None:
    """Delete only after "y"; "n" leaves the database and exits with 1."""
    assert purge(tmp_path, stdin="n\n").exit_code == 1
    assert database.exists()
    assert purge(tmp_path, stdin="y\n").exit_code == 0
    assert not database.exists()


def test_a_running_node_is_not_robbed(tmp_path: Path, database: Path) -> None:
    """Refuse with exit code 4 to delete the database of a node that runs."""
    with locked(tmp_path):
        result = purge(tmp_path, "-y")
    assert result.exit_code == 4
    assert "in use by another cfnode" in result.stderr
    assert database.exists()


def export(*arguments: str) -> Result:
    """Run `export-chain-spec`."""
    return CliRunner().invoke(export_chain_spec, list(arguments), catch_exceptions=False)


def test_the_main_net_is_exported_in_light_form(tmp_path: Path) -> None:
    """Export the main net as the built-in specification, to standard output or to a file alone."""
    assert parse(export().stdout) == BERGHAIN
    assert export("-o", str(tmp_path / "spec.json")).stdout == ""
    assert parse((tmp_path / "spec.json").read_bytes()) == BERGHAIN


def test_the_development_chain_is_exported_in_both_forms() -> None:
    """Export the development chain whole and with its state root only: both have one genesis hash."""
    raw, light = parse(export("--dev", "--raw").stdout), parse(export("--dev", "--light").stdout)
    assert raw.id == light.id == "dev"
    assert genesis_hash(raw) == genesis_hash(light)
    assert light == to_light(raw)


def test_an_unwritable_file_is_an_error(tmp_path: Path) -> None:
    """Exit with 1 and the system's reason where the file cannot be written."""
    result = export("-o", str(tmp_path / "absent" / "spec.json"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "No such file or directory" in result.stderr


def test_a_document_takes_the_place_of_a_file_when_it_is_whole(tmp_path: Path) -> None:
    """Keep the old file until the new document is whole, and leave no temporary file behind."""
    path = tmp_path / "spec.json"
    path.write_text("old")
    with pytest.raises(KeyError), written_to(path) as file:
        file.write("half of it")
        raise KeyError
    assert path.read_text() == "old"
    with written_to(path) as file:
        file.write("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(CommandFailure, match="cannot write"), written_to(tmp_path / "no" / "spec.json"):
        pass
