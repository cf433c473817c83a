"""The HTML page that a browser gets at `GET /` of a node, with links to its pages and documents."""

from __future__ import annotations

from typing import Final

from cfnode import __version__
from cfnode.web.origins import Headers

__all__ = ["HEADERS", "PAGE", "wants_html"]

HEADERS: Final[Headers] = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'"),
    (b"x-content-type-options", b"nosniff"),
]
PAGE: Final = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>cfnode {__version__}</title>
<style>body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem }}
pre {{ overflow-x: auto; padding: .8rem; border: 1px solid #8888 }}
:root {{ color-scheme: light dark }}</style>
<h1>cfnode {__version__}</h1>
<p>A node of the Chainflip State Chain. It answers programs: JSON-RPC by POST, and by WebSocket, at this
address.</p>
<pre>curl -H 'content-type: application/json' \\
  -d '{{"jsonrpc":"2.0","id":1,"method":"system_health"}}' THIS_ADDRESS</pre>
<ul>
<li><a href="/health">/health</a>, <a href="/health/readiness">/health/readiness</a>: the state of the
node; in a terminal <code>cfnode status</code></li>
<li>the methods: <code>rpc_methods</code>, and the page “JSON-RPC” of the documentation</li>
<li>the page for operators (swaps, fees, failed payouts) is served by <code>cfnode service run --web</code>,
at <code>/web</code> of its own address</li>
<li>the documentation: <code>docs/README.md</code> of the source, and <code>cfnode COMMAND --help</code></li>
</ul>
""".encode()


def wants_html(accept: bytes | None) -> bool:
    """Return whether a browser asks for a page to show: `curl` and programs accept anything."""
    return accept is not None and b"text/html" in accept.lower()
