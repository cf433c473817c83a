"""OpenAPI document of the partner API, made of the declarations that validate its requests."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import msgspec

from cfnode.swap_service.live_network.partner_api.operations import IDEMPOTENCY_KEY, OPERATIONS, ApiOperation
from cfnode.swap_service.live_network.partner_api.problems import CODES, ProblemBody

__all__ = ["PATH", "document"]

PATH: Final = "/v1/openapi.json"
_DESCRIPTION: Final = (
    "Quotes, deposit channels, statuses and statements for partners of a Chainflip broker. Amounts are "
    "decimal digits in the asset's smallest unit. Each unsuccessful answer has a code in `error.code`."
)


@cache
def document() -> bytes:
    """Return the OpenAPI document, as JSON."""
    types: list[type] = [ProblemBody]
    for operation in OPERATIONS:
        types += [kind for kind in (operation.answer, operation.body, operation.query) if kind is not None]
    template = "#/components/schemas/{name}"
    references, components = msgspec.json.schema_components(types, ref_template=template)
    by_type = dict(zip(types, references, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        query = {} if operation.query is None else components.pop(operation.query.__name__)
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, by_type, query)
    openapi = {
        "openapi": "3.1.0",
        "info": {"title": "Partner API", "version": "1", "description": _DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }
    return msgspec.json.encode(openapi)


def _operation(operation: ApiOperation, by_type: dict[type, Any], query: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": by_type[operation.answer]}}
    if operation.has_csv:
        content["text/csv"] = {"schema": {"type": "string"}}
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [
            *_path_parameters(operation),
            *_query_parameters(query),
            *_header_parameters(operation),
        ],
        "responses": {
            str(operation.status): {"description": "Success.", "content": content},
            **_failures(operation, by_type[ProblemBody]),
        },
    }
    if operation.body is not None:
        body = {"application/json": {"schema": by_type[operation.body]}}
        described["requestBody"] = {"required": True, "content": body}
    return described


def _path_parameters(operation: ApiOperation) -> list[dict[str, Any]]:
    if "{id}" not in operation.path:
        return []
    return [{"name": "id", "in": "path", "required": True, "schema": {"type": "string", "maxLength": 200}}]


def _query_parameters(query: dict[str, Any]) -> list[dict[str, Any]]:
    required = query.get("required", ())
    return [
        {"name": name, "in": "query", "required": name in required, "schema": schema}
        for name, schema in query.get("properties", {}).items()
    ]


def _header_parameters(operation: ApiOperation) -> list[dict[str, Any]]:
    if not operation.takes_key:
        return []
    schema = {"type": "string", "pattern": f"^{IDEMPOTENCY_KEY}$"}
    return [{"name": "Idempotency-Key", "in": "header", "required": True, "schema": schema}]


def _failures(operation: ApiOperation, reference: Any) -> dict[str, Any]:
    """Return a response for each status, whose description lists its codes."""
    texts: dict[int, list[str]] = {}
    for name in operation.codes:
        texts.setdefault(CODES[name].status, []).append(f"`{name}`: {CODES[name].when}")
    return {
        str(status): {
            "description": " ".join(lines),
            "content": {"application/json": {"schema": reference}},
            **(_RETRY_AFTER if status in (409, 429) else {}),
        }
        for status, lines in sorted(texts.items())
    }


_RETRY_AFTER: Final = {
    "headers": {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer"}}},
}
