"""Programs of the SDK's guide."""

from __future__ import annotations

from tests.documentation import blocks

EXAMPLES = [each.runnable for each in blocks("docs/guide/sdk.md", "python")]
