"""`cfnode service run --web`: which token opens the page, and what is said at the start."""

from __future__ import annotations

import re
import stat
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import CommandFailure
from cfnode.cli.service.web import _token_source
from cfnode.dashboard.sessions import Sessions
from cfnode.ledger.database import Database
from cfnode.store.errors import StoreError
from cfnode.web.tokens import Tokens

LONG = "t" * 40


def run(database: Database, *flags: str) -> Result:
    """Run the command, which ends with an error or, with --check, at once."""
    arguments = ["service", "run", "--node=http://127.0.0.1:9", f"--database={database.name}", *flags]
    return CliRunner().invoke(cli, arguments)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder for the token, with the data folder of the user below it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def token_file(path: Path, text: str) -> Path:
    """Write a file of tokens that its owner alone can read."""
    path.touch(mode=0o600)
    path.write_text(text)
    return path


def test_a_token_is_made_once_for_the_owner_alone_and_never_printed(empty: Database, files: Path) -> None:
    """Create a token once, in a file for its owner alone, and print the path but never the token."""
    path = files / "web-token"
    first = run(empty, "--web", "--check")
    token = path.read_text().strip()
    assert re.fullmatch("[0-9a-f]{64}", token)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert str(path) in first.output
    assert token not in first.output
    second = run(empty, "--web", "--check")
    assert path.read_text().strip() == token
    assert "Created a token" not in second.output
    assert Sessions(b"k" * 32, _token_source(empty, None, None)).begin(token) is not None


def test_a_file_of_ones_own_has_one_long_token(empty: Database, files: Path) -> None:
    """Refuse a file of several tokens, of a short one, or open to other users, and do not print it."""
    own = token_file(files / "own", f"  {LONG}\n")
    assert Sessions(b"k" * 32, _token_source(empty, None, own)).begin(LONG) is not None
    for text in ("", "short", f"{LONG} {LONG}"):
        answer = run(empty, "--web", f"--web-token-file={token_file(files / 'bad', text)}")
        assert answer.exit_code == 3
        assert "the file has one token of at least 20 characters" in answer.output
        assert LONG not in answer.output
    below = run(empty, "--web", f"--web-token-file={own / 'below'}")
    assert below.exit_code == 3
    assert "Not a directory" in below.output
    own.chmod(0o644)
    with pytest.raises(StoreError, match="is open to other users"):
        _token_source(empty, None, own)


def test_of_the_clients_tokens_those_of_the_group_admin_open_it(empty: Database, files: Path) -> None:
    """Admit tokens of the group admin from the clients' file; a reload ends the sessions of removed ones."""
    path = token_file(files / "tokens", f"shop broker {'s' * 40}\n")
    answer = run(empty, "--web", f"--auth-token-file={path}")
    assert answer.exit_code == 3
    assert "no token of --auth-token-file has the group admin" in answer.output
    path.write_text(f"shop broker {'s' * 40}\nme admin {LONG}\n")
    tokens = Tokens(path)
    sessions = Sessions(b"k" * 32, _token_source(empty, tokens, None))
    cookie = sessions.begin(LONG)
    assert sessions.begin("s" * 40) is None
    assert sessions.read(cookie) is not None
    path.write_text(f"shop broker {'s' * 40}\nother admin {'o' * 40}\n")
    tokens.reload()
    assert sessions.read(cookie) is None
    assert not (files / "web-token").exists()


def test_with_postgresql_the_token_is_in_the_base_path(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the token in the user's data folder where the books are a server's; refuse without a home."""
    database = Database("postgresql://books@127.0.0.1:9/books")
    source = _token_source(database, None, None)
    token = (files / "data" / "cfnode" / "web-token").read_text().strip()
    assert Sessions(b"k" * 32, source).begin(token) is not None
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.delenv("HOME")
    with pytest.raises(CommandFailure, match="there is no home directory: give --web-token-file"):
        _token_source(database, None, None)


def test_flags_that_contradict_each_other_and_missing_libraries_are_named(
    empty: Database, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refuse --web-token-file without --web, and name the package to install where a library is missing."""
    answer = run(empty, f"--web-token-file={files / 'own'}")
    assert answer.exit_code == 2
    assert "--web-token-file needs --web: add it" in answer.output
    for name in [name for name in sys.modules if name.startswith("cfnode.dashboard")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    answer = run(empty, "--web")
    assert answer.exit_code == 2
    assert "pip install 'cfnode[web]'" in answer.output
