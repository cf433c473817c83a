"""The port of the metrics outlives whatever a figure meets."""

from __future__ import annotations

import pytest
import trio

from cfnode.node.metrics.port import serve_metrics
from tests.rpc.clients import Answer, Http


async def fetched(port: int, verb: str = "GET", path: str = "/metrics") -> Answer:
    """Return the answer to a request."""
    async with Http(port) as http:
        return await http.request(verb, path)


async def test_a_failing_metric_fails_one_answer(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    """Answer 500 for a metric that fails, and serve the next request."""
    errors: list[Exception] = [KeyError("a figure"), MemoryError()]

    async def render() -> bytes:
        if errors:
            raise errors.pop()
        return b"all_is_well 1\n"

    port = await nursery.start(serve_metrics, render, "127.0.0.1", 0)
    assert [(await fetched(port)).status for _ in range(2)] == [500, 500]
    assert caplog.text.count("The metrics could not be written, please report it") == 2
    assert (await fetched(port)).body == b"all_is_well 1\n"


async def test_other_requests_are_refused_and_the_connection_serves_the_next(nursery: trio.Nursery) -> None:
    """Refuse other paths and methods, and keep the connection."""

    async def render() -> bytes:
        return b"up 1\n"

    port = await nursery.start(serve_metrics, render, "127.0.0.1", 0)
    async with Http(port) as http:
        assert (await http.request("GET", "/")).status == 404
        assert (await http.request("DELETE", "/metrics")).status == 405
        answer = await http.request("GET", "/metrics?of=a")
        assert (answer.status, answer.headers["content-type"]) == (
            200, "text/plain; version=0.0.4; charset=utf-8",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("listens_at", "host", "origin", "status"),
    [
        ("127.0.0.1", "127.0.0.1:{port}", None, 200),
        ("127.0.0.1", "localhost:9615", None, 200),
        ("127.0.0.1", "[::1]", None, 200),
        ("127.0.0.1", "metrics.example:9615", None, 200),
        ("127.0.0.1", "rebound.example", None, 403),
        ("127.0.0.1", "rebound.example:{port}", None, 403),
        ("127.0.0.1", "127.0.0.1:{port}", "https://evil.example", 403),
        ("127.0.0.1", "[", None, 403),
        ("0.0.0.0", "node.example:9615", None, 200),
        ("0.0.0.0", "[", None, 403),
    ],
)
async def test_a_web_page_that_points_its_name_at_this_machine_reads_no_metrics(
    nursery: trio.Nursery, listens_at: str, host: str, origin: str | None, status: int
) -> None:
    """Refuse a foreign host name or origin: a web page could read the metrics by rebinding its name."""

    async def render() -> bytes:
        return b"up 1\n"

    port = await nursery.start(serve_metrics, render, listens_at, 0, ("metrics.example",))
    headers = {"host": host.format(port=port)} | ({} if origin is None else {"origin": origin})
    async with Http(port) as http:
        assert (await http.request("GET", "/metrics", **headers)).status == status
