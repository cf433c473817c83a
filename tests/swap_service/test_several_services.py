"""Two services and two followers on one PostgreSQL; under load a service is killed, then the follower."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from cfnode.ledger.database import Database
from tests.ledger.contents import rows
from tests.ledger.postgres import MISSING, is_installed, running_postgres
from tests.lengths import only_whole, repeats
from tests.support.ledger.processes import following, leading, wait_for_block
from tests.swap_service.load import Answer, marked, marked_channels, open_many, serving
from tests.swap_service.partners import Api, broker_chain, followed

pytestmark = pytest.mark.world

PARTNERS = 5
CHANNELS = repeats(1_000, 60)


def test_each_request_is_answered_or_clearly_fails_and_none_is_opened_twice(tmp_path: Path) -> None:
    """Open 60 to 1,000 channels, each once, while a service and then the leading follower are killed."""
    if not is_installed():
        pytest.skip(MISSING)
    with ExitStack() as stack:
        url = stack.enter_context(running_postgres()).new_database("shared")
        chain = stack.enter_context(broker_chain(tmp_path / "node"))
        database = Database(url)
        followed(database, chain.url)
        first, second = (stack.enter_context(following(tmp_path, chain.url, url)) for _ in range(2))
        services = [stack.enter_context(serving(tmp_path, chain, url)) for _ in range(2)]
        urls = [service.url for service in services]
        partners = [Api.of(urls[1], database, rate=60_000) for _ in range(PARTNERS)]
        leader, other = leading(first, second)
        answers = list[Answer]()
        for answer in open_many(urls, [partner.key for partner in partners], range(1, CHANNELS + 1), 12):
            answers.append(answer)
            if len(answers) == CHANNELS // 4:
                services[0].kill()
            elif len(answers) == CHANNELS // 2:
                leader.kill()
        other.wait_for("has ended: this process follows now")
        chain.chain.new_block()
        chain.chain.finalize()
        wait_for_block(url, int(chain.chain.rpc("chain_getHeader")["number"], 16))
        opened = [answer for answer in answers if answer.status == 201]
        unknown = [answer for answer in answers if answer.status == 502]
        assert len(opened) + len(unknown) == CHANNELS
        assert {answer.body["error"]["code"] for answer in unknown} <= {"outcome_unknown"}
        on_chain = marked_channels(chain)
        again = {
            answer.mark: partners[(answer.mark - 1) % PARTNERS].open(
                marked(answer.mark), f"order-{answer.mark}"
            )
            for answer in unknown
        }
        repeated = {mark for mark, answer in again.items() if answer.status_code == 201}
        assert repeated == set(again) & set(on_chain)
        assert marked_channels(chain) == on_chain, "it was looked up, not sent"
        assert max(on_chain.values()) == 1, "a request was sent twice"
        assert {answer.mark for answer in opened} <= set(on_chain)
        assert set(on_chain) <= {answer.mark for answer in answers}
        assert len({answer.body["id"] for answer in opened}) == len(opened)
        in_the_books = {(row["chain"], row["channel"]) for row in rows(database, "channels")}
        kept = [row for row in rows(database, "partner_channels") if row["state"] == "opened"]
        assert {(row["chain"], row["channel"]) for row in kept} <= in_the_books
        assert len(kept) == len(opened) + len(repeated) == len(on_chain)
        owner = partners[(opened[-1].mark - 1) % PARTNERS]
        status = owner.get(f"/v1/swaps/{opened[-1].body['id']}")
        assert status.json()["state"] == "WAITING"
        assert status.json()["last_updated_at"] is not None, "it is that of the books"
        database.close()


@only_whole
def test_the_database_crashes_under_load(tmp_path: Path) -> None:
    """Open each channel once while PostgreSQL crashes; a repetition succeeds exactly where one was opened."""
    if not is_installed():
        pytest.skip(MISSING)
    with ExitStack() as stack:
        server = stack.enter_context(running_postgres())
        chain = stack.enter_context(broker_chain(tmp_path / "node"))
        database = Database(url := server.new_database("crashing"))
        followed(database, chain.url)
        urls = [stack.enter_context(serving(tmp_path, chain, url)).url for _ in range(2)]
        partners = [Api.of(urls[0], database, rate=60_000) for _ in range(PARTNERS)]
        answers = list[Answer]()
        for answer in open_many(urls, [partner.key for partner in partners], range(1, CHANNELS + 1), 12):
            answers.append(answer)
            if len(answers) == CHANNELS // 4:
                server.crash()
                server.start()
        assert {answer.status for answer in answers} <= {201, 502}
        chain.chain.new_block()
        chain.chain.finalize()
        followed(database, chain.url)
        on_chain = marked_channels(chain)
        assert max(on_chain.values()) == 1
        for first_answer in answers:
            owner = partners[(first_answer.mark - 1) % PARTNERS]
            again = owner.open(marked(first_answer.mark), f"order-{first_answer.mark}")
            assert (again.status_code == 201) == (first_answer.mark in on_chain), again.text
            assert first_answer.status != 201 or again.json() == first_answer.body
        assert marked_channels(chain) == on_chain
        database.close()
