"""Client by which the commands of `cfnode dev` call a development node and print outcomes."""

from __future__ import annotations

from typing import Any

from cfnode.cli import client
from cfnode.cli.exits import CommandFailure
from cfnode.cli.output import print_json, print_text
from cfnode.core.foreign import block_number
from cfnode.core.safe_text import origin_of

__all__ = ["DevClient"]


class DevClient:
    """Client of a development node that prints each outcome: a line of text, or JSON."""

    def __init__(self, url: str, timeout: float, as_json: bool) -> None:
        self.url, self.timeout, self.as_json = url, timeout, as_json

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raise Failure, also for a node that does not author its chain."""
        try:
            return client.call(self.url, method, list(params), timeout=self.timeout)
        except client.CallRefused as error:
            if error.error.get("code") == client.METHOD_NOT_FOUND and not error.needs_token:
                raise CommandFailure(
                    f"{origin_of(self.url)} has no {method}: only a node started with `cfnode run --dev` "
                    "does (and --rpc-methods=unsafe if its port is open to others)"
                ) from None
            raise

    def block(self, outcome: str, block: str, tail: str = "", **members: Any) -> None:
        """Print the outcome, its block and `tail`; `members` is printed as JSON only."""
        with client.reading(self.url):
            number = block_number(self.call("chain_getHeader", block))
        self.print(
            f"{outcome}: block {number} {block}{tail}", {"blockHash": block, "blockNumber": number, **members}
        )

    def chain_time(self, block: str) -> str:
        """Return the time of a block by the chain's own clock, as text."""
        from cfnode.core.chain_time import NOW_KEY, stored_time
        from cfnode.sdk.times import time_text

        with client.reading(self.url):
            return time_text(stored_time(self.call("state_getStorage", NOW_KEY, block)))

    def print(self, line: str, record: dict[str, Any]) -> None:
        """Print one line, or one JSON object."""
        if self.as_json:
            print_json(record, is_line=True)
        else:
            print_text(line)
