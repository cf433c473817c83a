"""Calls of a WebAssembly runtime: their outputs, and how they can fail."""

from __future__ import annotations

import gc
import random
from itertools import pairwise
from pathlib import Path

import pytest
import wasmtime
import xxhash

from cfnode.core.trie import MissingNode, ProofState, TrieError
from cfnode.runtime.calls import (
    Deadline,
    HostFault,
    OutOfMemory,
    RuntimeTrap,
    UnknownFunction,
    UnsupportedCode,
    Verdict,
)
from cfnode.runtime.journal import Journal
from cfnode.runtime.wasm.artefacts import Artefacts
from cfnode.runtime.wasm.binding import Binding, PublicBinding
from cfnode.runtime.wasm.host import HOST_FUNCTIONS
from cfnode.runtime.wasm.host.storage import option
from cfnode.runtime.wasm.raw import RawBinding
from cfnode.runtime.wasm.runtime import WasmRuntime
from tests.core.trie.proofs import build_proof
from tests.lengths import repeats
from tests.runtime.memory_state import MemoryState
from tests.runtime.wasm import counter


@pytest.fixture(params=[RawBinding, PublicBinding])
def binding(request: pytest.FixtureRequest) -> Binding:
    """Return each binding in turn: raw and public."""
    made: Binding = request.param()
    return made


@pytest.fixture(params=[False, True], ids=["imported memory", "exported memory"])
def runtime(request: pytest.FixtureRequest, artefacts: Artefacts, binding: Binding) -> WasmRuntime:
    """Return the counter's runtime with an imported or an exported memory."""
    return WasmRuntime(counter.module(own_memory=request.param), artefacts, binding=binding, call_s=1)


def journal(pairs: dict[bytes, bytes] | None = None) -> Journal:
    """Return a journal over a state."""
    return Journal(MemoryState(pairs))


def test_a_call_carries_arguments_in_and_output_out(runtime: WasmRuntime) -> None:
    """Carry arguments and output of any size through a call."""
    for size in (0, 1, 8, 9, 1000, 1 << 20):
        data = random.Random(size).randbytes(size)
        assert runtime.call("Counter_echo", data, journal()) == data


def test_a_call_reads_and_writes_its_journal(runtime: WasmRuntime) -> None:
    """Read and write through the journal of the call."""
    on = journal({b"counter": (40).to_bytes(4, "little"), b"z": b"last" * 100})
    assert runtime.call("BlockBuilder_apply_extrinsic", counter.extrinsic(b"+", 2), on) == b"\0\0"
    assert on.get(b"counter") == (42).to_bytes(4, "little")
    assert runtime.call("Counter_get", b"", on) == (42).to_bytes(4, "little")
    assert runtime.call("Counter_read", b"z", on) == b"\x01\x41\x06" + b"last" * 100
    assert runtime.call("Counter_read", b"y", on) == b"\0"
    assert runtime.call("Counter_next", b"counter\xff", on) == b"\x01\x04z"


def test_every_call_gets_a_fresh_instance(runtime: WasmRuntime) -> None:
    """Give each call a fresh instance: no global survives."""
    assert [runtime.call("Counter_calls", b"", journal())[0] for _ in range(3)] == [1, 1, 1]


def test_twox_hashes_are_those_of_xxhash_at_every_length(runtime: WasmRuntime) -> None:
    """Hash as xxhash does at every length, through the native replacement."""
    chance = random.Random(5)
    for size in [*range(40), 63, 64, 65, 95, 96, 97, 1000, 100_003]:
        data = chance.randbytes(size)
        first, second = (xxhash.xxh64_intdigest(data, seed).to_bytes(8, "little") for seed in (0, 1))
        assert runtime.call("Counter_twox64", data, journal()) == first
        assert runtime.call("Counter_twox128", data, journal()) == first + second


def test_the_version_is_read_from_the_sections_or_asked_for(artefacts: Artefacts) -> None:
    """Read the version from the sections without compiling, or ask the module for it."""
    assert WasmRuntime(counter.module(), Artefacts(Path("/nonexistent"))).version() == counter.VERSION
    assert WasmRuntime(counter.module(sections=False), artefacts).version() == counter.VERSION


def test_a_runtime_can_ask_for_the_version_of_other_code(runtime: WasmRuntime) -> None:
    """Let a runtime ask for the version of other code, as set_code does."""
    for sections in (True, False):
        other = counter.module(sections=sections)
        answer = runtime.call("Counter_version_of", other, journal())
        assert answer == option(counter.VERSION)
    assert runtime.call("Counter_version_of", b"no code", journal()) == b"\0"


@pytest.mark.parametrize(
    ("function", "args", "reason"),
    [
        ("Counter_recurse", b"", "call stack exhausted"),
        ("Counter_wild_output", b"", "outside of the runtime's memory"),
        ("Counter_wild_key", b"", "outside of the runtime's memory"),
        ("Counter_panic", b"panicked at 'no'", "^Counter_panic: panicked at 'no'$"),
        (
            "Counter_timestamp",
            b"",
            "calls ext_offchain_timestamp_version_1, which this node does not provide",
        ),
        ("Counter_rollback", b"", "no open transaction to roll back"),
        ("Counter_hoard", b"", "more memory than its limit|memory cannot grow"),
        ("Counter_greed", b"", "more than 32 MiB at once|33554433 bytes are too many"),
        ("Counter_free_nothing", b"", "never allocated|no memory was allocated"),
        ("BlockBuilder_apply_extrinsic", counter.extrinsic(b"t"), "_extrinsic: panicked: on request$"),
    ],
)
def test_errors_of_a_runtime_are_traps_with_a_reason(
    runtime: WasmRuntime, function: str, args: bytes, reason: str
) -> None:
    """Turn each failure of a runtime into a trap with its reason, and answer the next call."""
    with pytest.raises(RuntimeTrap, match=reason):
        runtime.call(function, args, journal())
    assert runtime.call("Counter_echo", b"alive", journal()) == b"alive"


def test_a_runaway_call_is_ended_with_a_deadline_error(artefacts: Artefacts, binding: Binding) -> None:
    """End a runaway call by a Deadline, and answer the next one."""
    runtime = WasmRuntime(counter.module(), artefacts, binding=binding, call_s=0.3)
    with pytest.raises(Deadline, match=r"Counter_loop took longer than 0\.3 s"):
        runtime.call("Counter_loop", b"", journal())
    assert runtime.call("Counter_echo", b"alive", journal()) == b"alive"


@pytest.mark.parametrize(
    ("raised", "kind", "words"),
    [
        (AttributeError("no such thing"), HostFault, "Counter_read: AttributeError: no such thing"),
        (OSError("no space left"), HostFault, "Counter_read: OSError: no space left"),
        (MemoryError(), OutOfMemory, "no memory is left for Counter_read"),
        (TrieError("a malformed node"), TrieError, "a malformed node"),
    ],
)
def test_a_bug_in_a_host_function_is_a_local_fault(
    runtime: WasmRuntime, raised: Exception, kind: type[Exception], words: str
) -> None:
    """Report a bug in a host function as a fault of this machine: a peer must not be blamed for it."""

    class Broken(MemoryState):
        def get(self, key: bytes, child: bytes = b"") -> bytes | None:
            if key == b"broken":
                raise raised
            return super().get(key, child)

    with pytest.raises(kind, match=words):
        runtime.call("Counter_read", b"broken", Journal(Broken({})))
    assert not issubclass(kind, Verdict)
    assert runtime.call("Counter_echo", b"alive", journal()) == b"alive"


def test_memory_that_the_system_refuses_is_no_trap_of_the_runtime(
    artefacts: Artefacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Distinguish memory that the system refuses from a runtime that asks beyond its limit."""
    runtime = WasmRuntime(counter.module(), artefacts)
    small = journal({b":heappages": (4).to_bytes(8, "little")})
    with pytest.raises(RuntimeTrap):
        runtime.call("Counter_hoard", b"", small)
    # As if the limit were further away than any allocation reaches: then only the system can have refused.
    monkeypatch.setattr("cfnode.runtime.wasm.memory.MAX_PAGES_AT_ONCE", 0)
    with pytest.raises(OutOfMemory, match="Counter_hoard: the system refuses memory"):
        runtime.call("Counter_hoard", b"", small)


def test_a_host_function_unknown_here_means_unsupported_code(artefacts: Artefacts) -> None:
    """Refuse code that calls a host function which this node does not know."""
    text = """(module (import "env" "memory" (memory 1)) (import "env" "ext_crypto_novel_version_1" (func $f))
        (global (export "__heap_base") i32 (i32.const 1024))
        (func (export "f") (param i32 i32) (result i64) (call $f) i64.const 0))"""
    with pytest.raises(UnsupportedCode, match="calls ext_crypto_novel_version_1, which this node does not"):
        WasmRuntime(bytes(wasmtime.wat2wasm(text)), artefacts).call("f", b"", journal())


def calling(names: list[str]) -> bytes:
    """Return a runtime that calls each host function in an entry point of its name, and none in `nothing`."""
    imports = "".join(f'(import "env" "{name}" (func ${name}))' for name in names)
    exports = "".join(
        f'(func (export "{name}") (param i32 i32) (result i64) (call ${name}) i64.const 0)' for name in names
    )
    text = f"""(module (import "env" "memory" (memory 1)) {imports}
        (global (export "__heap_base") i32 (i32.const 1024)) {exports}
        (func (export "nothing") (param i32 i32) (result i64) i64.const 0))"""
    return bytes(wasmtime.wat2wasm(text))


def version_1(family: str, names: str) -> list[str]:
    """Return the full names of a family's functions in version 1."""
    return [f"ext_{family}_{name}_version_1" for name in names.split()]


SCHEMES = ("ed25519", "sr25519", "ecdsa")
WITHOUT_A_WORKER = [
    *(
        f"ext_crypto_{scheme}_{act}_version_1"
        for scheme in SCHEMES
        for act in ("public_keys", "generate", "sign")
    ),
    *version_1("crypto", "ecdsa_sign_prehashed bls381_generate bls381_generate_proof_of_possession"),
    *version_1("crypto", "ecdsa_bls381_generate bandersnatch_generate bandersnatch_sign"),
    *version_1("offchain", "is_validator submit_transaction network_state timestamp sleep_until random_seed"),
    *version_1("offchain", "local_storage_set local_storage_clear local_storage_compare_and_set"),
    *version_1("offchain", "local_storage_get http_request_start http_request_add_header"),
    *version_1("offchain", "http_request_write_body http_response_wait http_response_headers"),
    *version_1("offchain", "http_response_read_body set_authorized_nodes"),
    "ext_crypto_sr25519_public_keys_version_2",
]
"""Of sp-io: those that expect a keystore, a transaction pool, or an off-chain worker's context."""

LACKING = [
    *(
        f"ext_trie_{act}_version_{n}"
        for act in ("keccak_256_root", "keccak_256_ordered_root")
        for n in (1, 2)
    ),
    *(f"ext_trie_{act}_verify_proof_version_{n}" for act in ("blake2_256", "keccak_256") for n in (1, 2)),
]
"""Of sp-io: what another node may well execute, and this one does not."""


@pytest.mark.parametrize(
    ("names", "kind"), [(WITHOUT_A_WORKER, RuntimeTrap), (LACKING, UnsupportedCode)], ids=["no node", "we"]
)
def test_a_missing_host_function_traps_by_name_when_it_is_called(
    artefacts: Artefacts, names: list[str], kind: type[Exception]
) -> None:
    """Trap by name at the call of a missing host function: as another node would, or as what only we lack."""
    runtime = WasmRuntime(calling(names), artefacts)
    for name in names:
        with pytest.raises(kind, match=f"calls {name}, which this node does not provide"):
            runtime.call(name, b"", journal())
        assert runtime.call("nothing", b"", journal()) == b""


def test_every_other_host_function_of_substrate_is_provided() -> None:
    """Provide every other host function of Substrate."""
    hashes = "keccak_256 keccak_512 sha2_256 blake2_128 blake2_256 twox_256 twox_128 twox_64"
    expected = {
        *version_1("hashing", hashes),
        *version_1("storage", "get read set clear exists clear_prefix append root changes_root next_key"),
        *version_1("storage", "start_transaction rollback_transaction commit_transaction"),
        *version_1(
            "default_child_storage", "get read set clear storage_kill exists clear_prefix root next_key"
        ),
        *version_1("trie", "blake2_256_root blake2_256_ordered_root"),
        *version_1("misc", "print_num print_utf8 print_hex runtime_version"),
        *version_1("crypto", "ed25519_verify ed25519_batch_verify start_batch_verify finish_batch_verify"),
        *version_1("crypto", "sr25519_verify sr25519_batch_verify ecdsa_verify ecdsa_verify_prehashed"),
        *version_1("crypto", "ecdsa_batch_verify secp256k1_ecdsa_recover"),
        *version_1("crypto", "secp256k1_ecdsa_recover_compressed"),
        *version_1("transaction_index", "index renew"),
        *version_1("offchain_index", "set clear"),
        *version_1("panic_handler", "abort_on_panic"),
        *version_1("logging", "log max_level"),
        *version_1("wasm_tracing", "enabled enter_span event exit"),
        *(f"ext_storage_{name}_version_2" for name in ("clear_prefix", "root")),
        *(f"ext_default_child_storage_{name}_version_2" for name in ("storage_kill", "clear_prefix", "root")),
        "ext_default_child_storage_storage_kill_version_3",
        *(f"ext_trie_blake2_256_{name}_version_2" for name in ("root", "ordered_root")),
        *(f"ext_crypto_{name}_version_2" for name in ("sr25519_verify", "ecdsa_verify")),
        *(f"ext_crypto_secp256k1_ecdsa_recover{form}_version_2" for form in ("", "_compressed")),
    }
    assert expected <= set(HOST_FUNCTIONS)
    assert not set(HOST_FUNCTIONS) & {*WITHOUT_A_WORKER, *LACKING}


def test_only_functions_of_the_runtime_can_be_called(runtime: WasmRuntime) -> None:
    """Call only functions that the runtime exports."""
    for name in ("Core_versions", "memory", "__heap_base", ""):
        with pytest.raises(UnknownFunction):
            runtime.call(name, b"", journal())


def test_a_runtime_cannot_end_a_transaction_of_the_block_builder(runtime: WasmRuntime) -> None:
    """Keep a runtime from ending a transaction of the block builder."""
    on = journal()
    on.begin()
    with pytest.raises(RuntimeTrap, match="no open transaction"):
        runtime.call("Counter_rollback", b"", on)
    assert on.depth == 1


def test_a_missing_key_of_a_proof_leaves_the_call_unchanged(runtime: WasmRuntime) -> None:
    """Pass a proof's missing key through WebAssembly unchanged: the fetch of the key depends on it."""
    state = MemoryState({bytes([i, i]): b"v" * 40 for i in range(64)})
    proven = ProofState(state.root, build_proof(state.node, state.get, [b"\x05\x05"]))
    assert runtime.call("Counter_read", b"\x05\x05", Journal(proven)) == b"\x01\xa0" + b"v" * 40
    with pytest.raises(MissingNode) as caught:
        runtime.call("Counter_read", b"\x25\x25", Journal(proven))
    assert caught.value.key == b"\x25\x25"


def test_heap_pages_of_the_state_limit_the_memory(artefacts: Artefacts) -> None:
    """Limit the memory by the heap pages that the state sets."""
    runtime = WasmRuntime(counter.module(), artefacts)
    data = bytes(1 << 20)
    assert runtime.call("Counter_echo", data, journal()) == data
    small = journal({b":heappages": (4).to_bytes(8, "little")})
    with pytest.raises(RuntimeTrap, match="more memory than its limit"):
        runtime.call("Counter_echo", data, small)


MISSHAPEN = {
    "another signature": '(import "env" "ext_storage_set_version_1" (func (param i32 i64)))',
    "which no host provides": '(import "wasi" "fd_write" (func))',
    "no memory": "",
    "start of its heap": '(memory (export "memory") 1)',
}


@pytest.mark.parametrize("reason", MISSHAPEN)
def test_a_module_that_no_host_can_run_is_unsupported_code(artefacts: Artefacts, reason: str) -> None:
    """Name what makes a module impossible to run."""
    memory = "" if "memory" in reason or "heap" in reason else '(import "env" "memory" (memory 1))'
    text = (
        f'(module {MISSHAPEN[reason]} {memory} (func (export "f") (param i32 i32) (result i64) i64.const 0))'
    )
    with pytest.raises(UnsupportedCode, match=reason):
        WasmRuntime(bytes(wasmtime.wat2wasm(text)), artefacts).call("f", b"", journal())


def test_thousands_of_calls_leave_nothing_behind(artefacts: Artefacts) -> None:
    """Leave no memory behind after thousands of calls, traps included."""
    runtime = WasmRuntime(counter.module(), artefacts)

    def some_calls() -> None:
        assert runtime.call("Counter_echo", bytes(100), journal()) == bytes(100)
        for function in ("Counter_wild_key", "Counter_recurse"):
            with pytest.raises(RuntimeTrap):
                runtime.call(function, b"", journal())

    sizes: list[int] = []
    for _ in range(repeats(20, 6)):
        for _ in range(repeats(250, 30)):
            some_calls()
        gc.collect()
        sizes.append(allocated())
    growth = sorted(after - before for before, after in pairwise(sizes))
    assert sum(growth[1:-1]) < 5 << 20, "a heap may grow once, and shrink once, for other reasons"


def allocated() -> int:
    """Return private memory of this process in bytes, without mapped files: a leak would show here."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) << 10


def test_an_instance_made_ahead_is_as_fresh_and_fits_the_state(runtime: WasmRuntime) -> None:
    """Use an instance that was made ahead once, and only where it fits the state's memory limit."""
    runtime.prepare()  # not loaded yet: nothing happens
    for _ in range(3):
        assert runtime.call("Counter_calls", b"", journal())[0] == 1
        runtime.prepare()
        runtime.prepare()
    with pytest.raises(RuntimeTrap):
        runtime.call("Counter_recurse", b"", journal())
    runtime.prepare()
    small = journal({b":heappages": (4).to_bytes(8, "little")})
    with pytest.raises(RuntimeTrap, match=r"more memory than its limit|memory cannot grow"):
        runtime.call("Counter_hoard", b"", small)
    assert runtime.call("Counter_echo", b"alive", journal()) == b"alive"
