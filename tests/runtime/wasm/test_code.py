"""What lies in `:code`: compressed or not, bounded, with its version in it."""

from __future__ import annotations

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from cfnode.runtime.calls import UnsupportedCode
from cfnode.runtime.wasm.code import COMPRESSED, MAX_CODE_BYTES, custom_section, embedded_version, expand
from tests.runtime.wasm import counter


def compressed(data: bytes) -> bytes:
    """Return code in Substrate's compressed form."""
    return COMPRESSED + zstandard.ZstdCompressor().compress(data)


def test_code_is_a_module_or_a_compressed_one() -> None:
    """Read code plain and compressed, with or without its size in the frame."""
    module = counter.module()
    assert expand(module) == module
    assert expand(compressed(module)) == module
    streamed = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    assert expand(COMPRESSED + streamed.compress(module) + streamed.flush()) == module


def test_code_that_would_fill_the_memory_is_refused_while_it_expands() -> None:
    """Refuse code that would fill the memory while it expands: a hundred kilobytes would be enough."""
    bomb = compressed(counter.module() + bytes(4 * MAX_CODE_BYTES))
    assert len(bomb) < 100_000
    with pytest.raises(UnsupportedCode, match="expands to more than 52428800 bytes"):
        expand(bomb)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (b"", "not a WebAssembly module"),
        (b"cfnode", "not a WebAssembly module"),
        (compressed(b"not wasm"), "not a WebAssembly module"),
        (b"\0asm\x02\0\0\0", "not a WebAssembly module"),
        (COMPRESSED, "ends too early"),
        (compressed(counter.module())[:-20], "ends too early"),
        (COMPRESSED + b"garbage that is no frame", "is damaged"),
    ],
)
def test_the_error_names_code_that_is_no_module(code: bytes, reason: str) -> None:
    """Name what is wrong with code that is not a module."""
    with pytest.raises(UnsupportedCode, match=reason):
        expand(code)


def test_the_version_is_put_together_from_two_sections() -> None:
    """Put the version together from the module's two sections, or None where they are missing."""
    assert embedded_version(counter.module()) == counter.VERSION
    assert embedded_version(counter.module(sections=False)) is None
    assert custom_section(counter.module(), "runtime_apis") == counter.APIS


def test_malformed_sections_are_named() -> None:
    """Name what is malformed in a module's sections."""
    plain = counter.module(sections=False)
    fields = counter.section(b"runtime_version", counter.FIELDS_START + b"\0" + counter.FIELDS_END)
    for sections, reason in (
        (fields + counter.section(b"runtime_apis", counter.APIS[:-1]), "middle of an API"),
        (counter.section(b"runtime_version", b"\xfc") + counter.section(b"runtime_apis", b""), "not decode"),
        (fields[:-1], "middle of a section"),
        (b"\0\xff\xff\xff\xff\xff", "more than five bytes"),
        (b"\0\x02\x50a", "shorter than its name"),
        (b"\0\xff", "middle of a number"),
        (b"\0\x01\0" * 2_000, "more than 1000 sections"),
    ):
        with pytest.raises(UnsupportedCode, match=reason):
            embedded_version(plain + sections)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail_in_another_way(data: bytes) -> None:
    """Answer any bytes with a version or UnsupportedCode."""
    for code in (data, b"\0asm\x01\0\0\0" + data, COMPRESSED + data):
        try:
            embedded_version(expand(code))
        except UnsupportedCode:
            continue
