"""A runtime in WebAssembly of our own: a counter, written by hand in the text format.

An extrinsic is `compact length ‖ kind ‖ rest`: `+` and a byte adds to the counter, `s` is stale, `x` exhausts
the block's resources, `t` traps, `o` adds and leaves a transaction open, `u` puts the value of `next-code`
under `:code`. Bodies are shorter than 64 bytes, so
that a compact length is one byte. The inherent data becomes one extrinsic: `+` and the number of its items.

What misbehaves on demand stands below the runtime APIs.
"""

from __future__ import annotations

from functools import cache

import wasmtime

from cfnode.core.hashing import twox_128
from cfnode.core.scale import encode_compact

DIGEST = twox_128(b"System") + twox_128(b"Digest")
APIS = bytes.fromhex("df6acb689907609b05000000") + bytes.fromhex("37e397fc7c91f5e401000000")
FIELDS_START = b"\x1ccounter" + b"\x10test" + (1).to_bytes(4, "little") + (7).to_bytes(4, "little") + bytes(4)
FIELDS_END = (3).to_bytes(4, "little") + b"\x01"
VERSION = FIELDS_START + encode_compact(2) + APIS + FIELDS_END
METADATA = encode_compact(5) + b"meta\x0e"

# Where things lie in the module's memory: constants, then a page of scratch.
_PLACES = {
    "COUNTER": (1024, b"counter"),
    "HEADER": (1040, b"counter-header"),
    "EXTRINSICS": (1060, b"counter-extrinsics"),
    "DIGEST": (1088, DIGEST),
    "VERSION": (1152, VERSION),
    "METADATA": (1408, METADATA),
    "OK": (1424, b"\0\0"),
    "STALE": (1428, b"\x01\0\x03"),
    "EXHAUSTS": (1432, b"\x01\0\x06"),
    "MODE": (1440, b"\0"),
    "PANIC": (1456, b"panicked: on request"),
    "TARGET": (1488, b"runtime"),
    "VALID": (1504, b"\0" + bytes(8) + b"\0" + b"\x04\x10mark" + (64).to_bytes(8, "little") + b"\x01"),
    "CODE": (1568, b":code"),
    "NEXT": (1584, b"next-code"),
}
_SCRATCH = 4096


def _span(name: str) -> str:
    place, data = _PLACES[name]
    return f"(i64.const {len(data) << 32 | place})"


def _data() -> str:
    def quoted(data: bytes) -> str:
        return "".join(f"\\{byte:02x}" for byte in data)

    return "\n".join(f'(data (i32.const {place}) "{quoted(data)}")' for place, data in _PLACES.values())


_IMPORTS = """
  (import "env" "ext_storage_set_version_1" (func $set (param i64 i64)))
  (import "env" "ext_storage_get_version_1" (func $get (param i64) (result i64)))
  (import "env" "ext_storage_read_version_1" (func $read (param i64 i64 i32) (result i64)))
  (import "env" "ext_storage_clear_version_1" (func $clear (param i64)))
  (import "env" "ext_storage_append_version_1" (func $append (param i64 i64)))
  (import "env" "ext_storage_next_key_version_1" (func $next (param i64) (result i64)))
  (import "env" "ext_storage_root_version_2" (func $root (param i32) (result i64)))
  (import "env" "ext_storage_start_transaction_version_1" (func $begin))
  (import "env" "ext_storage_commit_transaction_version_1" (func $commit))
  (import "env" "ext_storage_rollback_transaction_version_1" (func $rollback))
  (import "env" "ext_trie_blake2_256_ordered_root_version_2" (func $ordered (param i64 i32) (result i32)))
  (import "env" "ext_hashing_twox_128_version_1" (func $twox128 (param i64) (result i32)))
  (import "env" "ext_hashing_twox_64_version_1" (func $twox64 (param i64) (result i32)))
  (import "env" "ext_hashing_blake2_256_version_1" (func $blake2 (param i64) (result i32)))
  (import "env" "ext_misc_runtime_version_version_1" (func $version (param i64) (result i64)))
  (import "env" "ext_logging_log_version_1" (func $log (param i32 i64 i64)))
  (import "env" "ext_allocator_malloc_version_1" (func $malloc (param i32) (result i32)))
  (import "env" "ext_allocator_free_version_1" (func $free (param i32)))
  (import "env" "ext_offchain_timestamp_version_1" (func $timestamp (result i64)))
"""

_SOURCE = f"""(module
  {_IMPORTS}
  {{MEMORY}}
  {_data()}
  (global (export "__heap_base") i32 (i32.const 131072))
  (global $calls (mut i32) (i32.const 0))

  (func $span (param $at i32) (param $size i32) (result i64)
    (i64.or (i64.shl (i64.extend_i32_u (local.get $size)) (i64.const 32)) (i64.extend_i32_u (local.get $at))))

  ;; Read a value to scratch memory: its size.
  (func $load (param $key i64) (result i32)
    (i32.load offset=1 (i32.wrap_i64
      (call $read (local.get $key) (call $span (i32.const {_SCRATCH}) (i32.const 60000)) (i32.const 0)))))

  (func $counter (result i32)
    (i32.store (i32.const {_SCRATCH}) (i32.const 0))
    (drop (call $read {_span("COUNTER")} (call $span (i32.const {_SCRATCH}) (i32.const 4)) (i32.const 0)))
    (i32.load (i32.const {_SCRATCH})))

  (func $add (param $amount i32)
    (i32.store (i32.const {_SCRATCH})
      (i32.add (call $counter) (i32.mul (local.get $amount) (i32.const {{STEP}}))))
    (call $set {_span("COUNTER")} (call $span (i32.const {_SCRATCH}) (i32.const 4))))

  ;; How many bytes a compact number of up to four bytes takes.
  (func $compact (param $at i32) (result i32)
    (i32.shl (i32.const 1) (i32.and (i32.load8_u (local.get $at)) (i32.const 3))))

  (func $initialize (param $at i32) (param $size i32)
    (local $digest i32)
    (local.set $digest (i32.add (i32.const 96) (call $compact (i32.add (local.get $at) (i32.const 32)))))
    (call $set {_span("HEADER")} (call $span (local.get $at) (local.get $size)))
    (call $set {_span("DIGEST")}
      (call $span
        (i32.add (local.get $at) (local.get $digest)) (i32.sub (local.get $size) (local.get $digest))))
    (memory.fill (i32.const {_SCRATCH}) (i32.const 0) (i32.const 1))
    (call $set {_span("EXTRINSICS")} (call $span (i32.const {_SCRATCH}) (i32.const 1))))

  (func (export "Core_initialize_block") (param $at i32) (param $size i32) (result i64)
    (call $initialize (local.get $at) (local.get $size))
    {_span("MODE")})

  (func $apply (export "BlockBuilder_apply_extrinsic") (param $at i32) (param $size i32) (result i64)
    (local $kind i32)
    (local.set $kind (i32.load8_u offset=1 (local.get $at)))
    (if (i32.eq (local.get $kind) (i32.const 115)) (then (return {_span("STALE")})))
    (if (i32.eq (local.get $kind) (i32.const 120)) (then (return {_span("EXHAUSTS")})))
    (i32.store8 (i32.const {_SCRATCH}) (i32.shl (local.get $size) (i32.const 2)))
    (memory.copy (i32.const {_SCRATCH + 1}) (local.get $at) (local.get $size))
    (call $append {_span("EXTRINSICS")}
      (call $span (i32.const {_SCRATCH}) (i32.add (local.get $size) (i32.const 1))))
    (if (i32.eq (local.get $kind) (i32.const 117)) (then (call $upgrade)))
    (call $begin)
    (call $add (i32.load8_u offset=2 (local.get $at)))
    (if (i32.eq (local.get $kind) (i32.const 116))
      (then (call $log (i32.const 1) {_span("TARGET")} {_span("PANIC")}) unreachable))
    (if (i32.ne (local.get $kind) (i32.const 111)) (then (call $commit)))
    {_span("OK")})

  ;; Take what lies under `next-code` for the code; it comes as an Option behind a compact length.
  (func $upgrade
    (local $span i64) (local $option i32) (local $head i32)
    (local.set $option (i32.wrap_i64 (local.tee $span (call $get {_span("NEXT")}))))
    (local.set $head (i32.add (i32.const 1) (call $compact (i32.add (local.get $option) (i32.const 1)))))
    (call $set {_span("CODE")} (call $span
      (i32.add (local.get $option) (local.get $head))
      (i32.sub (i32.wrap_i64 (i64.shr_u (local.get $span) (i64.const 32))) (local.get $head)))))

  ;; The header that was initialized, with both roots, in scratch memory: its span.
  (func $finish (result i64)
    (local $size i32) (local $root i32) (local $extrinsics i32) (local $at i32)
    (local.set $size (call $load {_span("EXTRINSICS")}))
    (local.set $extrinsics
      (call $ordered (call $span (i32.const {_SCRATCH}) (local.get $size)) (i32.const 0)))
    (local.set $size (call $load {_span("HEADER")}))
    (call $clear {_span("HEADER")})
    (call $clear {_span("EXTRINSICS")})
    (local.set $root (i32.wrap_i64 (call $root (i32.const 1))))
    (local.set $at (i32.add (i32.const {_SCRATCH + 32}) (call $compact (i32.const {_SCRATCH + 32}))))
    (memory.copy (local.get $at) (local.get $root) (i32.const 32))
    (memory.copy (i32.add (local.get $at) (i32.const 32)) (local.get $extrinsics) (i32.const 32))
    (call $span (i32.const {_SCRATCH}) (local.get $size)))

  (func (export "BlockBuilder_finalize_block") (param i32 i32) (result i64) (call $finish))

  (func (export "BlockBuilder_inherent_extrinsics") (param $at i32) (param $size i32) (result i64)
    (i32.store (i32.const {_SCRATCH}) (i32.const 0x002b0804))
    (i32.store8 (i32.const {_SCRATCH + 3}) (i32.shr_u (i32.load8_u (local.get $at)) (i32.const 2)))
    (call $span (i32.const {_SCRATCH}) (i32.const 4)))

  (func (export "Core_execute_block") (param $at i32) (param $size i32) (result i64)
    (local $cursor i32) (local $count i32) (local $end i32) (local $header i32)
    (local.set $end (i32.add (local.get $at) (local.get $size)))
    (local.set $cursor (i32.add (local.get $at) (i32.add (i32.const 96)
      (call $compact (i32.add (local.get $at) (i32.const 32))))))
    (local.set $count (i32.shr_u (i32.load8_u (local.get $cursor)) (i32.const 2)))
    (local.set $cursor (i32.add (local.get $cursor) (i32.const 1)))
    (loop $items
      (if (local.get $count)
        (then
          ;; an item of the digest: kind, engine, compact length of one byte, data
          (local.set $cursor (i32.add (local.get $cursor)
            (i32.add (i32.const 6) (i32.shr_u (i32.load8_u offset=5 (local.get $cursor)) (i32.const 2)))))
          (local.set $count (i32.sub (local.get $count) (i32.const 1)))
          (br $items))))
    (local.set $header (i32.sub (local.get $cursor) (local.get $at)))
    (call $initialize (local.get $at) (local.get $header))
    (local.set $cursor (i32.add (local.get $cursor) (call $compact (local.get $cursor))))
    (loop $extrinsics
      (if (i32.lt_u (local.get $cursor) (local.get $end))
        (then
          (local.set $count
            (i32.add (i32.const 1) (i32.shr_u (i32.load8_u (local.get $cursor)) (i32.const 2))))
          (if (i64.ne (call $apply (local.get $cursor) (local.get $count)) {_span("OK")}) (then unreachable))
          (local.set $cursor (i32.add (local.get $cursor) (local.get $count)))
          (br $extrinsics))))
    (drop (call $finish))
    (i64.const 0))

  (func (export "Core_version") (param i32 i32) (result i64) {_span("VERSION")})
  (func (export "Metadata_metadata") (param i32 i32) (result i64) {_span("METADATA")})
  (func (export "TaggedTransactionQueue_validate_transaction") (param $at i32) (param i32) (result i64)
    (if (i32.eq (i32.load8_u offset=2 (local.get $at)) (i32.const 115)) (then (return {_span("STALE")})))
    {_span("VALID")})

  ;; --- what a test asks for

  (func (export "Counter_get") (param i32 i32) (result i64)
    (drop (call $counter)) (call $span (i32.const {_SCRATCH}) (i32.const 4)))
  (func (export "Counter_read") (param $at i32) (param $size i32) (result i64)
    (call $get (call $span (local.get $at) (local.get $size))))
  (func (export "Counter_next") (param $at i32) (param $size i32) (result i64)
    (call $next (call $span (local.get $at) (local.get $size))))
  (func (export "Counter_echo") (param $at i32) (param $size i32) (result i64)
    (call $span (local.get $at) (local.get $size)))
  (func (export "Counter_twox128") (param $at i32) (param $size i32) (result i64)
    (call $span (call $twox128 (call $span (local.get $at) (local.get $size))) (i32.const 16)))
  (func (export "Counter_twox64") (param $at i32) (param $size i32) (result i64)
    (call $span (call $twox64 (call $span (local.get $at) (local.get $size))) (i32.const 8)))
  (func (export "Counter_version_of") (param $at i32) (param $size i32) (result i64)
    (call $version (call $span (local.get $at) (local.get $size))))
  ;; a static: one more with each call of an instance
  (func (export "Counter_calls") (param i32 i32) (result i64)
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (i32.store (i32.const {_SCRATCH}) (global.get $calls)) (call $span (i32.const {_SCRATCH}) (i32.const 4)))
  (func (export "Counter_host_calls") (param $at i32) (param $size i32) (result i64)
    (local $left i32)
    (local.set $left (i32.load (local.get $at)))
    (loop $again
      (call $free (call $blake2 (call $span (local.get $at) (local.get $size))))
      (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1)))))
    (i64.const 0))
  (func (export "Counter_loop") (param i32 i32) (result i64) (loop $ever (br $ever)) unreachable)
  (func $deeper (param i64) (result i64) (i64.add (call $deeper (local.get 0)) (i64.const 1)))
  (func (export "Counter_recurse") (param i32 i32) (result i64) (call $deeper (i64.const 1)))
  (func (export "Counter_hoard") (param i32 i32) (result i64)
    (loop $more (drop (call $malloc (i32.const 1000000))) (br $more)) unreachable)
  (func (export "Counter_greed") (param i32 i32) (result i64)
    (drop (call $malloc (i32.const 33554433))) unreachable)
  (func (export "Counter_free_nothing") (param i32 i32) (result i64)
    (call $free (i32.const 100000)) unreachable)
  (func (export "Counter_wild_output") (param i32 i32) (result i64) (i64.const 0x10f0000000))
  (func (export "Counter_wild_key") (param i32 i32) (result i64) (call $get (i64.const 0x10f0000000)))
  (func (export "Counter_panic") (param $at i32) (param $size i32) (result i64)
    (call $log (i32.const 1) {_span("TARGET")} (call $span (local.get $at) (local.get $size))) unreachable)
  (func (export "Counter_timestamp") (param i32 i32) (result i64) (call $timestamp))
  (func (export "Counter_rollback") (param i32 i32) (result i64) (call $rollback) (i64.const 0))
)
"""

_IMPORTED = '(import "env" "memory" (memory 2))'
_EXPORTED = '(memory (export "memory") 2)'


def section(name: bytes, data: bytes) -> bytes:
    """Return a custom section (of less than 128 bytes, so that its length is one byte)."""
    body = bytes([len(name)]) + name + data
    assert len(body) < 128
    return b"\0" + bytes([len(body)]) + body


@cache
def module(*, own_memory: bool = False, sections: bool = True, step: int = 1) -> bytes:
    """Return the assembled runtime.

    With a memory of its own instead of an imported one; without its version in sections; adding `step` times
    what an extrinsic says.
    """
    text = _SOURCE.replace("{MEMORY}", _EXPORTED if own_memory else _IMPORTED).replace("{STEP}", str(step))
    plain = bytes(wasmtime.wat2wasm(text))
    if not sections:
        return plain
    version = section(b"runtime_version", FIELDS_START + b"\0" + FIELDS_END)
    return plain + version + section(b"runtime_apis", APIS)


def extrinsic(kind: bytes, amount: int = 0) -> bytes:
    """Return an extrinsic of this kind."""
    return encode_compact(len(kind) + 1) + kind + bytes([amount])
