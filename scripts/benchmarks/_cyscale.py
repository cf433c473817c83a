"""The side of cyscale in the SCALE benchmark; runs under its interpreter and prints one JSON object.

Usage: python _cyscale.py METADATA_FILE COUNT
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from scalecodec.base import RuntimeConfigurationObject, ScaleBytes
from scalecodec.type_registry import load_type_registry_preset


def load(data: bytes) -> tuple[Any, Any, float]:
    """Decode the metadata and load its type table; return configuration, metadata, seconds."""
    configuration = RuntimeConfigurationObject()
    configuration.update_type_registry(load_type_registry_preset("core"))
    begin = perf_counter()
    metadata = configuration.create_scale_object("MetadataVersioned", ScaleBytes(data))
    metadata.decode()
    configuration.add_portable_registry(metadata)
    return configuration, metadata, perf_counter() - begin


def rate(count: int, work: Callable[[], object]) -> float:
    """Return the items a second, the best of three rounds."""
    best = 0.0
    for _ in range(3):
        begin = perf_counter()
        work()
        best = max(best, count / (perf_counter() - begin))
    return best


def remark(number: int) -> bytes:
    """Return the SCALE of a call `System.remark` with a number of five bytes."""
    return b"\x00\x00\x14" + number.to_bytes(5, "little")


def main() -> None:
    """Print the rates of cyscale for loading metadata and decoding calls."""
    data, count = Path(sys.argv[1]).read_bytes(), int(sys.argv[2])
    loads = [load(data) for _ in range(3)]
    configuration, metadata, _ = loads[-1]
    calls = [remark(number) for number in range(count)]
    call_class = configuration.get_decoder_class("Call")
    call_type = next(
        f"scale_info::{row.value['id']}"
        for row in metadata.portable_registry["types"]
        if row.value["type"]["path"][-1:] == ["RuntimeCall"]
    )
    one_by_one = rate(
        count, lambda: [call_class(ScaleBytes(call), metadata=metadata).decode() for call in calls]
    )
    batch = rate(count, lambda: configuration.batch_decode([call_type] * count, calls))
    print(json.dumps({"load": min(seconds for _, _, seconds in loads), "one": one_by_one, "batch": batch}))


if __name__ == "__main__":
    main()
