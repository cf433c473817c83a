"""SIGHUP to `cfnode ledger run` and `cfnode service run`: both go on; a file of tokens is read again."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx
import pytest

from tests.process import until
from tests.support.ledger.processes import following
from tests.swap_service.load import serving
from tests.swap_service.partners import Chain

pytestmark = pytest.mark.world

TOKEN = "token-of-a-reader-0123456789abcdef"


def test_ledger_and_services_go_on(chain: Chain, tmp_path: Path) -> None:
    """Go on after SIGHUP, say which file was read or that there is none, and still end cleanly by SIGTERM."""
    database, tokens = f"sqlite:///{tmp_path}/books.sqlite", tmp_path / "tokens"
    tokens.touch(mode=0o600)
    tokens.write_text(f"watch read {TOKEN}\n")
    flag = f"--auth-token-file={tokens}"
    with following(tmp_path, chain.url, database) as ledger:
        ledger.wait_for("The books begin")
        with serving(tmp_path, chain, database) as open_, serving(tmp_path, chain, database, flag) as closed:
            for program, text in (
                (ledger, "SIGHUP: no file to reload\n"),
                (open_, "SIGHUP: no file to reload; --auth-token-file names none"),
                (closed, "SIGHUP: read 1 tokens"),
            ):
                program.process.send_signal(signal.SIGHUP)
                until(lambda: text in program.log_path.read_text())  # noqa: B023
            for service in (open_, closed):
                assert httpx.get(f"{service.url}/healthcheck").status_code == 200
            for program in (ledger, open_, closed):
                program.process.send_signal(signal.SIGTERM)
                assert program.process.wait(timeout=60) == 0
