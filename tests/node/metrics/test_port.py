"""The port of the metrics outlives whatever a figure meets."""

from __future__ import annotations

import pytest
import trio

from cfnode.node.metrics.port import serve_metrics


async def fetched(port: int) -> bytes:
    async with await trio.open_tcp_stream("127.0.0.1", port) as stream:
        await stream.send_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n")
        return b"".join([data async for data in stream])


async def test_a_failing_metric_fails_one_answer(
    nursery: trio.Nursery, caplog: pytest.LogCaptureFixture
) -> None:
    errors: list[Exception] = [KeyError("a figure"), MemoryError()]

    async def render() -> bytes:
        if errors:
            raise errors.pop()
        return b"all_is_well 1\n"

    port = await nursery.start(serve_metrics, render, "127.0.0.1", 0)
    assert [await fetched(port) for _ in range(2)] == [b"", b""]
    assert caplog.text.count("The metrics could not be written, please report it") == 2
    assert (await fetched(port)).endswith(b"\r\n\r\nall_is_well 1\n")
