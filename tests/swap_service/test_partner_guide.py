"""The page about partners: its commands and its program run as they are, for a partner that it adds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cfnode.ledger.database import Database, sqlite_url
from tests.documentation import block, blocks
from tests.support.cli.commands import run
from tests.swap_service.live import running_service
from tests.swap_service.partners import Chain, broker_chain, followed

GUIDE = "docs/guide/partners.md"


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    """Yield a development chain with a broker and an affiliate."""
    with broker_chain(tmp_path_factory.mktemp("chain")) as started:
        yield started


@pytest.mark.world
def test_the_partners_program_opens_a_channel(chain: Chain, tmp_path: Path) -> None:
    """Run the guide's commands and its program as printed: they add a partner and open a channel."""
    url = sqlite_url(tmp_path / "books.sqlite")
    followed(database := Database(url), chain.url)
    (added,) = block(GUIDE, "cfnode ledger partner add").splitlines()
    code, out, err = run(*added.split()[1:], "--database", url)
    assert code == 0, err
    line = block(GUIDE, "cfnode service run").replace("http://127.0.0.1:9944", chain.url).split()
    code, _, err = run(*line[1:], "--database", url)
    assert code == 0, err
    (program,) = (block.runnable for block in blocks(GUIDE, "python"))
    with running_service(database, chain.url, chain.url) as service:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"API_URL": service.url, "API_KEY": out.split()[-1]},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    sent, status = done.stdout.splitlines()
    assert sent.startswith("send 0.1 BTC to bcrt1")
    assert status.endswith(" WAITING")
    database.close()
