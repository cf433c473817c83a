"""Which exit code does an error of the rooms below end a command with?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cfnode.cli.exits import ExitCode, Failure

__all__ = ["told"]


@contextmanager
def told() -> Iterator[None]:
    """Ends the command in words where a key, a chain specification or a file cannot be used.

    The texts of these errors never repeat a secret.
    """
    from cfnode.core.bip39 import PhraseError
    from cfnode.core.chainspec import ChainSpecError
    from cfnode.core.ss58 import Ss58Error
    from cfnode.core.suri import SuriError
    from cfnode.store.errors import StoreError

    try:
        yield
    except ChainSpecError as error:
        raise Failure(str(error), ExitCode.CONFIGURATION) from None
    except StoreError as error:
        raise Failure(str(error), ExitCode(error.exit_code)) from None
    except (PhraseError, SuriError, Ss58Error) as error:
        raise Failure(str(error)) from None
