"""The life of `cfnode run`: a base path, the node in one trio nursery, and an orderly stop when asked.

The first SIGINT or SIGTERM stops the node in order, exit 0. A second one ends the process at once, exit 130:
the store survives that too.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import trio

from cfnode.cli.exits import ExitCode
from cfnode.node.config import Config

log = logging.getLogger("cfnode.cli")


@contextmanager
def base_path_for(given: Path | None, temporary: bool) -> Iterator[Path]:
    """The base path: the one given, the default one, or a fresh directory that is removed at the end."""
    if not temporary:
        from cfnode.store.base_path import default_base_path

        yield given or default_base_path()
        return
    fresh = Path(tempfile.mkdtemp(prefix="cfnode-"))
    try:
        yield fresh
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


async def stop_on_signals(scope: trio.CancelScope, task_status: trio.TaskStatus[None]) -> None:
    """Cancel `scope` at the first signal; end the process at the second."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            if scope.cancel_called:
                os._exit(ExitCode.INTERRUPTED)
            log.info("🛑 Stopping")
            scope.cancel()


async def live(config: Config) -> None:
    """Run the node with its JSON-RPC server until a signal comes."""
    from cfnode.node.service import run
    from cfnode.rpc.server import serve

    async with trio.open_nursery() as watch:
        with trio.CancelScope() as scope:
            await watch.start(stop_on_signals, scope)
            await run(config, services=[serve])
        watch.cancel_scope.cancel()


def run_until_stopped(
    make_config: Callable[[Path], Config], config_source: object, ignored: list[str]
) -> None:
    """Run the node of that configuration to its end; raises Failure with the exit code that fits."""
