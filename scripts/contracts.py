"""Compile the contracts of the local EVM chain, or (--check) compare their code with the sources."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path

CONTRACTS = Path(__file__).resolve().parent.parent / "cfnode" / "devchain" / "evm" / "contracts"
COMPILED = CONTRACTS / "compiled.json"


def compiled() -> str:
    """Return the file with the code of all contracts."""
    from vyper import compile_code

    code = {
        path.stem: compile_code(path.read_text(), output_formats=["bytecode_runtime"])["bytecode_runtime"][2:]
        for path in sorted(CONTRACTS.glob("*.vy"))
    }
    return json.dumps({"compiler": f"vyper {version('vyper')}", "code": code}, indent=1) + "\n"


def main() -> None:
    """Write the file, or compare it."""
    text = compiled()
    if "--check" not in sys.argv[1:]:
        COMPILED.write_text(text)
    elif text != COMPILED.read_text():
        sys.exit(f"{COMPILED.name} is not what the sources compile to: run python scripts/contracts.py")


if __name__ == "__main__":
    main()
