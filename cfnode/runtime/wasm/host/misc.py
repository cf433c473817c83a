"""Further host functions: trie roots, the version of new code, and log messages.

Polkadot spec, host API: Trie, Miscellaneous, Logging, Offchain Index; Substrate's panic handler, tracing and
transaction index; Cumulus' proof size. Data for an archive or an off-chain worker is accepted and dropped:
this node has neither. Functions that need keys, a network or a clock (`ext_offchain_…`, creating keys and
signing) are not provided, and trap by name, as in a Substrate node, whose blocks and calls have neither a
keystore nor an off-chain worker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from cfnode.core.scale import ByteCursor, ScaleError
from cfnode.core.trie import ordered_root, root
from cfnode.runtime.wasm.host.signature import HostError, host_function, state_version
from cfnode.runtime.wasm.host.storage import option

__all__ = ["Misc", "Tries"]

_NO_RECORDER = (1 << 64) - 1
"""The size of a storage proof without a recorder."""

_ERROR_LEVEL = 1
"""LogLevelFilter::Error: panics are logged at this level; lower levels are not used."""

_KEPT_LINES = 8
_KEPT_LENGTH = 1_000


def _pairs(data: bytes) -> dict[bytes, bytes]:
    """Read the SCALE Vec<(Vec<u8>, Vec<u8>)>. Raises HostError."""
    try:
        cursor = ByteCursor(data)
        pairs = [(cursor.bytes(), cursor.bytes()) for _ in range(cursor.count(2))]
        cursor.finish()
    except ScaleError as error:
        raise HostError(f"malformed pairs: {error}") from error
    return dict(pairs)


def _items(data: bytes) -> list[bytes]:
    """Read the SCALE Vec<Vec<u8>>. Raises HostError."""
    try:
        cursor = ByteCursor(data)
        items = [cursor.bytes() for _ in range(cursor.count())]
        cursor.finish()
    except ScaleError as error:
        raise HostError(f"malformed items: {error}") from error
    return items


class Tries:
    """Host functions of the part Trie: roots over BLAKE2b-256."""

    @host_function("data", result="pointer")
    def ext_trie_blake2_256_root_version_1(self, pairs: bytes) -> bytes:
        return root(_pairs(pairs), 0)

    @host_function("data", "u32", result="pointer")
    def ext_trie_blake2_256_root_version_2(self, pairs: bytes, version: int) -> bytes:
        return root(_pairs(pairs), state_version(version))

    @host_function("data", result="pointer")
    def ext_trie_blake2_256_ordered_root_version_1(self, items: bytes) -> bytes:
        return ordered_root(_items(items), 0)

    @host_function("data", "u32", result="pointer")
    def ext_trie_blake2_256_ordered_root_version_2(self, items: bytes, version: int) -> bytes:
        return ordered_root(_items(items), state_version(version))


class Misc:
    """Host functions of the part Miscellaneous, and other small ones."""

    version_of: Callable[[bytes], bytes | None]
    """The function that returns the SCALE RuntimeVersion of some other code, or None if it has none."""

    def __init__(self) -> None:
        self.messages: deque[str] = deque(maxlen=_KEPT_LINES)
        """The last log messages of the runtime: they explain a trap."""
        self.dropped = 0
        """The number of entries meant for an off-chain index or a transaction index."""

    def _keep_message(self, text: bytes) -> None:
        self.messages.append(text[:_KEPT_LENGTH].decode(errors="replace"))

    @host_function("data", result="data")
    def ext_misc_runtime_version_version_1(self, code: bytes) -> bytes:
        return option(self.version_of(code))

    @host_function("u64")
    def ext_misc_print_num_version_1(self, number: int) -> None:
        self._keep_message(b"%d" % number)

    @host_function("data")
    def ext_misc_print_utf8_version_1(self, text: bytes) -> None:
        self._keep_message(text)

    @host_function("data")
    def ext_misc_print_hex_version_1(self, data: bytes) -> None:
        self._keep_message(b"0x" + data[:_KEPT_LENGTH].hex().encode())

    @host_function("u32", "data", "data")
    def ext_logging_log_version_1(self, level: int, target: bytes, message: bytes) -> None:
        self._keep_message(message)

    @host_function(result="u32")
    def ext_logging_max_level_version_1(self) -> int:
        return _ERROR_LEVEL

    @host_function("data")
    def ext_panic_handler_abort_on_panic_version_1(self, message: bytes) -> None:
        raise HostError(message[:_KEPT_LENGTH].decode(errors="replace"))

    @host_function("data", "data")
    def ext_offchain_index_set_version_1(self, key: bytes, value: bytes) -> None:
        self.dropped += 1

    @host_function("data")
    def ext_offchain_index_clear_version_1(self, key: bytes) -> None:
        self.dropped += 1

    @host_function("u32", "u32", "b32")
    def ext_transaction_index_index_version_1(self, extrinsic: int, size: int, content: bytes) -> None:
        self.dropped += 1

    @host_function("u32", "b32")
    def ext_transaction_index_renew_version_1(self, extrinsic: int, content: bytes) -> None:
        self.dropped += 1

    @host_function("data", result="u32")
    def ext_wasm_tracing_enabled_version_1(self, metadata: bytes) -> int:
        return 0

    @host_function("data", result="u64")
    def ext_wasm_tracing_enter_span_version_1(self, span: bytes) -> int:
        return 0

    @host_function("data")
    def ext_wasm_tracing_event_version_1(self, event: bytes) -> None:
        pass

    @host_function("u64")
    def ext_wasm_tracing_exit_version_1(self, span: int) -> None:
        pass

    @host_function(result="u64")
    def ext_storage_proof_size_storage_proof_size_version_1(self) -> int:
        return _NO_RECORDER
