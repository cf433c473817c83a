"""Files that a person names: of whatever size, also a device without end, and of whatever content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cfnode.cli.exits import CommandFailure
from cfnode.cli.settings.file import read_config
from cfnode.devchain.authorities import AuthoritiesError, read_authorities
from cfnode.ledger.errors import LedgerError
from cfnode.ledger.statements.rates import read_rates
from cfnode.sdk.recovery.wallet import KeyFile, KeyFileError
from tests.support.memory import MAX_MORE, peak, reset_peak

pytestmark = pytest.mark.world

READERS: dict[str, tuple[Callable[[Path], object], type[Exception]]] = {
    "rates": (lambda path: read_rates(path, "EUR"), LedgerError),
    "a key": (KeyFile.read, KeyFileError),
    "authorities": (lambda path: read_authorities(str(path)), AuthoritiesError),
    "configuration": (read_config, CommandFailure),
}
CONTENTS = {
    "nothing": b"",
    "a mark of the byte order": b"\xef\xbb\xbf",
    "an empty line": b"\n",
    "not UTF-8": b"\xff\xfe\x00",
    "nested": b"a = " + b"[" * 20_000,
    "nested JSON": b'{"crypto": ' + b"[" * 20_000,
    "NUL": b"date,usd_per_eur\n2026-01-01,\x00\n",
    "long": b"a" * 300_000,
}


@pytest.mark.parametrize("reader", READERS)
def test_a_file_without_end_is_too_large(reader: str) -> None:
    """Refuse a file without end as too large, within bounds of memory."""
    read, error = READERS[reader]
    before = reset_peak()
    with pytest.raises(error, match="large"):
        read(Path("/dev/zero"))
    assert peak() - before < MAX_MORE


@pytest.mark.parametrize(
    ("reader", "content"),
    [
        (reader, content)
        for reader in READERS
        for content in CONTENTS
        if (reader, content) not in (("configuration", "nothing"), ("configuration", "an empty line"))
    ],
)
def test_a_file_of_any_content_is_an_error_of_its_reader(reader: str, content: str, tmp_path: Path) -> None:
    """Answer a file of any content with the reader's own error, in printable text."""
    read, error = READERS[reader]
    path = tmp_path / "file"
    path.write_bytes(CONTENTS[content])
    with pytest.raises(error) as caught:
        read(path)
    assert str(caught.value).isprintable()
