"""An imported memory becomes one of the module's own, and nothing else changes."""

from __future__ import annotations

import pytest
import wasmtime
from hypothesis import given
from hypothesis import strategies as st

from cfnode.runtime.calls import UnsupportedCode
from cfnode.runtime.wasm.engine import engine
from cfnode.runtime.wasm.own_memory import with_own_memory
from tests.runtime.wasm import counter

IMPORT = '(import "env" "memory" (memory 3 9))'
PARTS = {
    "alone": "",
    "exported": '(export "memory" (memory 0))',
    "among others": (
        '(import "env" "f" (func $f (param i32))) (import "env" "t" (table 1 funcref))'
        ' (import "env" "g" (global i64)) (func (export "run") (call $f (i32.const 1)))'
    ),
    "with a second one": '(memory 1) (func (export "grow") (result i32) (memory.grow 1 (i32.const 1)))',
    "with everything": (
        "(table 2 funcref) (global $top (mut i32) (i32.const 7)) (func $a) (elem (i32.const 0) $a)"
        ' (data (i32.const 65536) "begun") (export "top" (global $top)) (start $a)'
    ),
}


def compiled(module: bytes) -> wasmtime.Module:
    """Compile a module."""
    return wasmtime.Module(engine(), module)


def names(items: list[wasmtime.ImportType]) -> list[tuple[str, str | None, str]]:
    """Return module, name and kind of each import."""
    return [(item.module, item.name, type(item.type).__name__) for item in items]


@pytest.mark.parametrize("name", PARTS)
def test_only_the_import_of_the_memory_changes(name: str) -> None:
    """Change only the import of the memory into an exported one, and nothing on a second pass."""
    before = wasmtime.wat2wasm(f"(module {IMPORT} {PARTS[name]})")
    after = with_own_memory(bytes(before))
    original, made = compiled(bytes(before)), compiled(after)
    assert names(made.imports) == [
        imported for imported in names(original.imports) if imported[1] != "memory"
    ]
    exports = {export.name: export.type for export in made.exports}
    assert exports.keys() == {export.name for export in original.exports} | {"memory"}
    memory = exports["memory"]
    assert isinstance(memory, wasmtime.MemoryType)
    assert (memory.limits.min, memory.limits.max) == (3, 9)
    assert with_own_memory(after) == after


def test_the_memory_begins_with_its_data_and_each_instance_has_its_own() -> None:
    """Begin the memory with the module's data, apart for each instance."""
    module = compiled(
        with_own_memory(bytes(wasmtime.wat2wasm(f"(module {IMPORT} {PARTS['with everything']})")))
    )
    store = wasmtime.Store(engine())
    store.set_epoch_deadline(10)
    one, other = (wasmtime.Instance(store, module, []).exports(store)["memory"] for _ in range(2))
    assert isinstance(one, wasmtime.Memory)
    assert isinstance(other, wasmtime.Memory)
    one.write(store, b"ended", 65536)
    assert one.read(store, 65536, 65541) == b"ended"
    assert other.read(store, 65536, 65541) == b"begun"


@pytest.mark.parametrize(
    ("text", "is_changed"),
    [
        ('(memory (export "memory") 1)', False),
        ('(import "other" "memory" (memory 1))', False),
        (IMPORT, True),
    ],
)
def test_what_is_not_that_import_stays(text: str, is_changed: bool) -> None:
    """Leave a module alone that has a memory of its own or another import of that name."""
    module = bytes(wasmtime.wat2wasm(f"(module {text})"))
    assert (with_own_memory(module) != module) == is_changed


def test_an_import_of_an_unknown_kind_is_refused_by_its_number() -> None:
    """Refuse an import of an unknown kind by its number."""
    body = b"\x01\x03env\x01x\x09\x00"
    with pytest.raises(UnsupportedCode, match="the unknown kind 9"):
        with_own_memory(b"\0asm\x01\0\0\0\x02" + bytes((len(body),)) + body)


@given(cut=st.integers(8, 2_000), at=st.integers(8, 2_000), byte=st.integers(0, 255))
def test_damaged_modules_are_refused_in_words_or_left_to_the_compiler(cut: int, at: int, byte: int) -> None:
    """Refuse a damaged module by our own error, or leave it to the compiler."""
    module = bytearray(counter.module())
    module[at % len(module)] = byte
    try:
        with_own_memory(bytes(module[:cut]))
    except UnsupportedCode as refused:
        assert "module" in str(refused) or "import" in str(refused)
