"""The guides of webhooks: their commands, and their receivers in three languages, do what they say."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import trio

from cfnode.ledger.books import Books
from cfnode.ledger.database import Database, sqlite_url
from cfnode.ledger.webhooks import registry
from cfnode.ledger.webhooks.deliverer import Deliverer, Pace
from cfnode.ledger.webhooks.history import delivery_lines
from cfnode.ledger.webhooks.registry import Chosen
from tests.documentation import block, blocks
from tests.ledger.contents import rows
from tests.ledger.day import Day
from tests.ledger.receivers import receiving
from tests.lengths import only_whole
from tests.support.cli.commands import run
from tests.support.ledger.blocks import GENESIS
from tests.support.ledger.blocks import block as made
from tests.support.ledger.reused import BLOCKS
from tests.support.ledger.webhooks import left
from tests.support.ports import free_port, listens
from tests.support.waiting import until, wait_until

GUIDE = "docs/guide/webhooks.md"
RECEIVERS = "docs/guide/webhook-receivers.md"
FAST = Pace(poll_s=0.02, limit_s=5.0, lease_s=1.0, first_pause_s=0.05, max_pause_s=0.1)
WAIT_S = 60


@pytest.mark.world
def test_the_guide(day: Day, tmp_path: Path) -> None:
    """Its commands do what it says, with a receiver that runs."""
    url = sqlite_url(tmp_path / "books.sqlite")
    database = Database(url)
    database.migrate()
    with receiving() as receiver:
        (added,) = block(GUIDE, "cfnode ledger webhook add").splitlines()
        words = added.replace("http://127.0.0.1:8085/", receiver.url).split()[1:]
        code, out, err = run(*words, "--database", url)
        assert (code, "it is not printed again" in err) == (0, True), err
        webhook, secret = re.findall(r"\S+$", out, re.MULTILINE)
        assert (tmp_path / "books.sqlite").stat().st_mode & 0o077 == 0
        line = ("ledger", "run", "--node", day.url, "--database", url, "--first-block", "1", "--once")
        code, _, err = run(*line)
        assert code == 0, err
        (listed,) = json.loads(run("ledger", "webhook", "list", "--database", url, "--json")[1])
        count = len(rows(database, "changes"))
        assert (listed["delivered"], listed["pending"], listed["error"]) == (count, 0, None)
        assert secret not in str(listed) + run("ledger", "webhook", "list", "--database", url)[1]
        lines = block(GUIDE, "cfnode ledger webhook list").replace("wh_0123456789ab", webhook)
        lines = lines.replace("--to 2026-11-02", "--to 2100-01-01").replace("2026-11-01", "2020-01-01")
        outputs = []
        for command in lines.splitlines()[:-1]:
            code, out, err = run(*command.split()[1:], "--database", url)
            assert code == 0, (command, err)
            outputs.append(out)
        assert outputs[0] == f"{webhook}.{count + 1}\n"
        assert outputs[-3:] == [
            "0 deliveries to send\n", "1 deliveries to send\n", f"{count} deliveries to send\n",
        ]  # fmt: skip
        trio.run(_drained, database, webhook)
        assert len({delivery.id for delivery in receiver.received}) == count + 1
        (rotation,) = block(GUIDE, "cfnode ledger webhook rotate").splitlines()
        rotated = run(*rotation.replace("wh_0123456789ab", webhook).split()[1:], "--database", url)[1]
        assert rotated.startswith("whsec_")
        for command in (*block(GUIDE, "cfnode ledger webhook enable").splitlines(), lines.splitlines()[-1]):
            command = command.replace("wh_0123456789ab", webhook)
            assert run(*command.split()[1:], "--database", url)[0] == 0
        assert run("ledger", "webhook", "list", "--database", url)[2] == "no webhooks\n"


RUNNERS = {
    "python": ("receiver.py", [sys.executable], "python3"),
    "javascript": ("receiver.mjs", ["node"], "nodejs"),
    "go": ("receiver", [], "golang-go"),
}
"""The file, the command, and the package of a receiver in each language of the guide; Go is compiled."""
PROGRAMS = {
    program.language: program.text
    for program in (
        *blocks(RECEIVERS, "python"),
        *blocks(RECEIVERS, "javascript"),
        *blocks(RECEIVERS, "go"),
    )
}


def receiver_of(language: str, program: str, folder: Path) -> list[str]:
    """Return the command of a program in a language; skip the test where the machine cannot run it."""
    name, command, package = RUNNERS[language]
    compiler = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
    first = compiler if language == "go" else shutil.which(command[0])
    if first is None:
        pytest.skip(f"{language} is not here: install the package {package}")
    if language == "go":
        (folder / "receiver.go").write_text(program)
        caches = {"GOCACHE": str(folder / "cache"), "HOME": str(folder)}
        build = [first, "build", "-o", name, "receiver.go"]
        subprocess.run(build, cwd=folder, env=os.environ | caches, check=True)
        return [str(folder / name)]
    (folder / name).write_text(program)
    return [first, *command[1:], str(folder / name)]


@pytest.mark.world
@pytest.mark.parametrize("language", ["python", "javascript", pytest.param("go", marks=only_whole)])
def test_a_receiver_in_each_language_of_the_guide(language: str, tmp_path: Path) -> None:
    """It accepts either secret of a rotation, knows what comes again, and refuses other signatures."""
    port = free_port()
    line = receiver_of(language, PROGRAMS[language].replace("8085", str(port)), tmp_path)
    database = Database(sqlite_url(tmp_path / "books.sqlite"))
    database.migrate()
    webhook, secret = registry.add(database, f"http://127.0.0.1:{port}/")
    Books(database).begin(GENESIS, "Development", "all", made(0, []), {})
    Books(database).write([made(number, events) for number, events in enumerate(BLOCKS, 1)], {})
    environment = os.environ | {"WEBHOOK_SECRET": secret}
    with subprocess.Popen(
        line, env=environment, stdout=subprocess.PIPE, text=True, process_group=0
    ) as receiver:
        try:
            wait_until(lambda: listens(port))
            trio.run(_drained, database, webhook)
            registry.rotate(database, webhook)
            registry.replay(database, webhook, Chosen(change=1))
            registry.send_test(database, webhook)
            trio.run(_drained, database, webhook)
            registry.rotate(database, webhook)  # the receiver has neither of the two that are valid now
            refused = registry.send_test(database, webhook)
            trio.run(_attempted, database, webhook)
        finally:
            os.killpg(receiver.pid, signal.SIGTERM)
        printed = [tuple(line.split()) for line in receiver.communicate()[0].splitlines()]
    noted_changes = rows(database, "changes")
    assert sorted(printed) == sorted(
        (row["type"], f"{webhook}.{row['id']}")
        for row in noted_changes
        if refused != f"{webhook}.{row['id']}"
    )
    order = {name: place for place, (_, name) in enumerate(printed)}
    for subject in {row["subject"] for row in noted_changes}:
        own = [f"{webhook}.{row['id']}" for row in noted_changes if row["subject"] == subject]
        places = [order[name] for name in own if name != refused]
        assert places == sorted(places), subject
    with database.reading() as connection:
        (failed,) = [line for line in delivery_lines(connection, webhook, "pending") if line.id == refused]
    assert failed.error == "answered 401"


async def _attempted(database: Database, webhook: str) -> None:
    """Deliver until the webhook has a fault."""
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Deliverer(database, FAST).run)
            await until(lambda: registry.require(database, webhook).error is not None)
            nursery.cancel_scope.cancel()


async def _drained(database: Database, webhook: str) -> None:
    """Deliver all that waits."""
    with trio.fail_after(WAIT_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(Deliverer(database, FAST).run)
            await until(lambda: not left(database, webhook))
            nursery.cancel_scope.cancel()
