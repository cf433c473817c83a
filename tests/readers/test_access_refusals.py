"""A server's access rules refuse a client: command line, books and SDK explain it in the same words."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from click.testing import CliRunner

from cfnode.cli import cli
from cfnode.core.access_refusals import TOKEN_OF_COMMAND, TOKEN_OF_PROGRAM, access_refusal
from cfnode.ledger.client import connected
from cfnode.ledger.errors import AccessRefused
from cfnode.sdk import SwapSDK
from cfnode.sdk.errors import BadStatus
from cfnode.sdk.subscriptions import subscription
from tests.sdk.loopback import page, serving


@pytest.mark.parametrize("status", [401, 403])
def test_all_clients_explain_a_refusal_in_the_same_words(status: int, tmp_path: Path) -> None:
    """Explain 401 and 403 in one wording from the command line, the books and the SDK."""
    with serving(lambda request: page(status, b"no")) as server:
        done = CliRunner().invoke(cli, ["rpc", "system_health", "--node", server.url])
        texts = [done.output, trio.run(_of_the_books, server.url), trio.run(_of_a_subscription, server.url)]
        options = {"network": "dev", "rpcUrl": server.url, "backendUrl": server.url}
        with SwapSDK(options) as sdk, pytest.raises(BadStatus) as refused:
            sdk.get_swap_limits()
        texts.append(refused.value.message)
    advice = [TOKEN_OF_COMMAND, TOKEN_OF_COMMAND, TOKEN_OF_PROGRAM, TOKEN_OF_PROGRAM]
    for text, token_advice in zip(texts, advice, strict=True):
        assert str(access_refusal(status, token_advice)) in text


def test_other_statuses_are_no_refusals_by_access_rules() -> None:
    """Take no other status for a refusal by access rules."""
    assert [access_refusal(status, TOKEN_OF_COMMAND) for status in (200, 400, 404, 429, 500)] == [None] * 5


async def _of_the_books(url: str) -> str:
    with pytest.raises(AccessRefused) as refused:
        async with connected(url):
            raise AssertionError("refused above")
    return str(refused.value)


async def _of_a_subscription(url: str) -> str:
    with pytest.raises(BadStatus) as refused:
        async with subscription(url, "chain_subscribeNewHeads"):
            raise AssertionError("refused above")
    return refused.value.message
