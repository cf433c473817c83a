"""What if a part of the node ends by an error that nobody foresaw?

Then the node goes on without its help for a moment: the error is logged with its traceback, and the part
begins anew. Only what a person has to mend (the disk, a checkpoint that is wrong) ends the node, in words.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import trio

from cfnode.store import StoreError

__all__ = ["PAUSE_S", "kept_up"]

log = logging.getLogger("cfnode.service")

PAUSE_S = 1.0
"""Seconds until a part begins anew: if it fails at once again, the log shall not fill the disk."""


async def kept_up(name: str, part: Callable[[], Awaitable[None]], *ends: type[Exception]) -> None:
    """Run a part until cancelled; a mistake of ours costs it a moment, not the node.

    A StoreError, and what is in `ends`, is for a person: it ends the node.
    """
    while True:
        try:
            await part()
            return
        except Exception as error:
            if _is_one_of(error, (StoreError, *ends)):
                raise
            log.exception("The %s ended with a bug, please report it; it begins anew", name)
        await trio.sleep(PAUSE_S)


def _is_one_of(error: BaseException, kinds: tuple[type[Exception], ...]) -> bool:
    """Is it, or does a group of errors hold, one of these?"""
    if isinstance(error, BaseExceptionGroup):
        return any(_is_one_of(each, kinds) for each in error.exceptions)
    return isinstance(error, kinds)
