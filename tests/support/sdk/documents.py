"""Programs of the SDK's guide."""

from __future__ import annotations

from tests.documentation import blocks

EXAMPLES = [block.runnable for block in blocks("docs/guide/sdk.md", "python")]
