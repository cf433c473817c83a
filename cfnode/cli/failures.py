"""Which exit code does an error of the rooms below end a command with?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cfnode.cli.exits import ExitCode, Failure

__all__ = ["told", "told_by_a_runtime"]


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


@contextmanager
def told_by_a_runtime() -> Iterator[None]:
    """As `told`, for commands that ask a runtime themselves."""
    from cfnode.core.scale import ScaleError
    from cfnode.devchain.authorities import AuthoritiesError
    from cfnode.runtime.door import DoorError

    with told():
        try:
            yield
        except AuthoritiesError as error:
            raise Failure(str(error), ExitCode.USAGE) from None
        except (DoorError, ScaleError) as error:
            raise Failure(f"the runtime gives no answer: {error}", ExitCode.CONFIGURATION) from None
