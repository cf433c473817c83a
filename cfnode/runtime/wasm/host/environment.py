"""Host functions for a runtime's environment: the version of code, messages, and indexes that are dropped.

Polkadot spec, host API: Miscellaneous, Logging, Offchain Index; Substrate's panic handler, tracing and
transaction index; Cumulus' proof size. Data for an archive or an off-chain worker is accepted and dropped:
this node has neither. Functions that need keys, a network or a clock (`ext_offchain_…`, creating keys and
signing) are not provided, and trap by name, as in a Substrate node, whose blocks and calls have neither a
keystore nor an off-chain worker.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from cfnode.runtime.wasm.host.signature import HostError, host_function
from cfnode.runtime.wasm.host.storage import option

__all__ = ["HostEnvironment"]

_NO_RECORDER = (1 << 64) - 1
"""The size of a storage proof without a recorder."""

_ERROR_LEVEL = 1
"""LogLevelFilter::Error: panics are logged at this level; lower levels are not used."""

_KEPT_LINES = 8
_KEPT_LENGTH = 1_000


class HostEnvironment:
    """Host functions of the parts Miscellaneous, Logging and Offchain Index, and of tracing."""

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
        """Return the encoded version of new code as a SCALE option."""
        return option(self.version_of(code))

    @host_function("u64")
    def ext_misc_print_num_version_1(self, number: int) -> None:
        """Keep a number among the last messages of the call."""
        self._keep_message(b"%d" % number)

    @host_function("data")
    def ext_misc_print_utf8_version_1(self, text: bytes) -> None:
        """Keep a text among the last messages of the call."""
        self._keep_message(text)

    @host_function("data")
    def ext_misc_print_hex_version_1(self, data: bytes) -> None:
        """Keep bytes in hex among the last messages of the call."""
        self._keep_message(b"0x" + data[:_KEPT_LENGTH].hex().encode())

    @host_function("u32", "data", "data")
    def ext_logging_log_version_1(self, level: int, target: bytes, message: bytes) -> None:
        """Keep a log message, of any level, among the last messages of the call."""
        self._keep_message(message)

    @host_function(result="u32")
    def ext_logging_max_level_version_1(self) -> int:
        """Return the level of errors: the runtime need not format others."""
        return _ERROR_LEVEL

    @host_function("data")
    def ext_panic_handler_abort_on_panic_version_1(self, message: bytes) -> None:
        """End the call with the panic's message. Raises HostError."""
        raise HostError(message[:_KEPT_LENGTH].decode(errors="replace"))

    @host_function("data", "data")
    def ext_offchain_index_set_version_1(self, key: bytes, value: bytes) -> None:
        """Count a write to the offchain index, which the node does not keep."""
        self.dropped += 1

    @host_function("data")
    def ext_offchain_index_clear_version_1(self, key: bytes) -> None:
        """Count a removal from the offchain index, which the node does not keep."""
        self.dropped += 1

    @host_function("u32", "u32", "b32")
    def ext_transaction_index_index_version_1(self, extrinsic: int, size: int, content: bytes) -> None:
        """Count a write to the transaction index, which the node does not keep."""
        self.dropped += 1

    @host_function("u32", "b32")
    def ext_transaction_index_renew_version_1(self, extrinsic: int, content: bytes) -> None:
        """Count a renewal in the transaction index, which the node does not keep."""
        self.dropped += 1

    @host_function("data", result="u32")
    def ext_wasm_tracing_enabled_version_1(self, metadata: bytes) -> int:
        """Return 0: nothing is traced."""
        return 0

    @host_function("data", result="u64")
    def ext_wasm_tracing_enter_span_version_1(self, span: bytes) -> int:
        """Return 0: nothing is traced."""
        return 0

    @host_function("data")
    def ext_wasm_tracing_event_version_1(self, event: bytes) -> None:
        """Ignore the event: nothing is traced."""

    @host_function("u64")
    def ext_wasm_tracing_exit_version_1(self, span: int) -> None:
        """Ignore the end of a span: nothing is traced."""

    @host_function(result="u64")
    def ext_storage_proof_size_storage_proof_size_version_1(self) -> int:
        """Return the number by which the host says that it records no proof."""
        return _NO_RECORDER
