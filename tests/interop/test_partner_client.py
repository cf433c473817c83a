"""A client that another program generates from the partners' OpenAPI document walks the partner's path."""

from __future__ import annotations

import json
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.statements import CalendarPeriod, LedgerStatement
from tests.conftest import PEERS
from tests.ledger.contents import rows
from tests.ledger.day import BTC_ADDRESS, EVM_ADDRESS
from tests.swap_service.live import running_service
from tests.swap_service.partners import Api, broker_chain, followed

pytestmark = pytest.mark.world

SCRIPT = Path(__file__).with_name("partner_client_peer.py")
LIMIT_S = 120
"""Far above what a step takes, so that only a hang fails."""


@pytest.fixture
def generator() -> Path:
    """Return the folder of the generator's programs."""
    folder = PEERS / "openapi" / "bin"
    if not (folder / "openapi-python-client").exists():
        pytest.skip("openapi-python-client is not here: scripts/peers installs it")
    return folder


def generated(generator: Path, url: str, folder: Path) -> None:
    """Generate the client, from the document that the service serves."""
    order = ["generate", "--url", f"{url}/v1/openapi.json", "--meta", "none", "--fail-on-warning"]
    command = [str(generator / "openapi-python-client"), *order]
    target = ["--output-path", str(folder / "partner_client")]
    done = subprocess.run(
        [*command, *target],
        env={"PATH": f"{generator}:/usr/bin:/bin", "HOME": str(folder)},
        timeout=LIMIT_S,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_partners_path_with_a_generated_client_alone(generator: Path, tmp_path: Path) -> None:
    """Walk the partner's path with a client that is generated from the served document alone."""
    books = Database(sqlite_url(tmp_path / "books.sqlite"))
    with broker_chain(tmp_path / "node") as chain:
        followed(books, chain.url)
        with running_service(books, chain.url, chain.url) as service:
            api = Api.of(service.url, books, affiliate=chain.affiliate, affiliate_bps=5)
            generated(generator, service.url, tmp_path)
            partner = subprocess.Popen(
                [generator / "python", SCRIPT, service.url, api.key, EVM_ADDRESS, BTC_ADDRESS],
                env={"PYTHONPATH": str(tmp_path)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=(tmp_path / "errors").open("w"),
                text=True,
            )
            try:
                assert partner.stdout is not None
                address = partner.stdout.readline().strip()
                assert address, (tmp_path / "errors").read_text()
                chain.swap(address)
                followed(books, chain.url)
                newest = max(row["time"] for row in rows(books, "blocks"))
                month = datetime.fromtimestamp(newest / 1000, UTC).strftime("%Y-%m")
                out, _ = partner.communicate(f"{month}\n", timeout=LIMIT_S)
                assert partner.returncode == 0, (tmp_path / "errors").read_text()
            finally:
                partner.kill()
                partner.wait()
    report = json.loads(out)
    assert report["reused"] == [422, "idempotency_key_reused"]
    assert report["states"][-1] == "COMPLETED"
    assert report["fees"] == ["BROKER", "EGRESS", "INGRESS", "NETWORK"]
    assert int(report["egress"]) > int(report["quoted"]) * 99 // 100
    own = LedgerStatement(books, CalendarPeriod.parse(month), partner=api.name)
    assert report["lines"] == len(list(own.lines())) > 5
    assert report["statement"] == [total.document() for total in own.totals]
    books.close()
