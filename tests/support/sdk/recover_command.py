"""`cfnode recover` on a State Chain that offers a payload."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner, Result

from cfnode.cli import cli
from cfnode.cli.exits import ExitCode
from tests.sdk.loopback import Loopback, Request, page, serving
from tests.support.sdk.payloads import entries, node

ETHER = 10**18


def state_chain(test_vector: dict[str, Any], **state: Any) -> Any:
    """Return a State Chain that offers this payload as broadcast 7."""
    script = node(test_vector, **({"offered": True, "now": entries((7, 6))} | state))

    def handle(request: Request) -> bytes:
        return page(200, json.dumps([script._reply(call) for call in request.calls]).encode())

    return serving(handle)


def recover(server: Loopback, *arguments: str, chain: str = "ethereum", typed: str = "") -> Result:
    """Run `cfnode recover` for broadcast 7."""
    line = ["recover", chain, "7", "--node", server.url, *arguments]
    return CliRunner().invoke(cli, line, input=typed)


def ended(result: Result, code: ExitCode, *words: str) -> None:
    """Check the exit code, and words of the output."""
    assert result.exit_code == code, result.output
    for word in words:
        assert word in result.output, result.output
