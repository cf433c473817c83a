"""Sessions of the page: a client that gave a token, proved by a signed cookie for half a day.

The cookie has no secret: the fingerprint of a token, and a random number, signed with a key in the books. So
all processes that share the books accept it, and it ends with its token, which is looked up on each request.
A posted form has a second number, which follows from the first and the key, and which a page of another site
cannot know.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from itsdangerous import BadData, URLSafeTimedSerializer

from cfnode.core.bearer_token import MAX_TOKEN
from cfnode.web.tokens import Group, Token

__all__ = ["SESSION_MAX_AGE_S", "DashboardSession", "Sessions", "TokenSource"]

SESSION_MAX_AGE_S: Final = 12 * 3600
MAX_COOKIE_CHARS: Final = 1_000
MESSAGE_MAX_AGE_S: Final = 60
TokenSource = Callable[[], Iterable[Token]]
"""The tokens that count now; only those of the group admin open the page."""


@dataclass(frozen=True, slots=True)
class DashboardSession:
    """A client that gave a token; `csrf` has to come with each form."""

    name: str
    csrf: str


class Sessions:
    """Maker and reader of cookies; `key` signs them."""

    def __init__(self, key: bytes, tokens: TokenSource) -> None:
        self._key, self._tokens = key, tokens
        self._signer = URLSafeTimedSerializer(key, salt="session", signer_kwargs=_SHA256)
        self._messages = URLSafeTimedSerializer(key, salt="message", signer_kwargs=_SHA256)

    def begin(self, presented: str) -> str | None:
        """Return the cookie for a token; None if the token opens nothing.

        Compares with each token, in the same time.
        """
        data = presented.strip().encode()
        if len(data) > MAX_TOKEN:
            return None
        digest, matching = hashlib.sha256(data).digest(), None
        for token in self._allowed():
            if hmac.compare_digest(token.digest, digest):
                matching = token
        return None if matching is None else self._begun(matching)

    def begin_trusted(self) -> str | None:
        """Return the cookie for a client that gave a one-time code; None while no token opens the page."""
        allowed = self._allowed()
        return self._begun(allowed[0]) if allowed else None

    def _begun(self, token: Token) -> str:
        return self._signer.dumps([self._fingerprint(token), secrets.token_urlsafe(16)])

    def read(self, cookie: str | None) -> DashboardSession | None:
        """Return the session of a cookie, or None."""
        value = _loaded(self._signer, cookie, SESSION_MAX_AGE_S)
        if not (isinstance(value, list) and len(value) == 2 and all(isinstance(part, str) for part in value)):
            return None
        fingerprint, number = value
        for token in self._allowed():
            if hmac.compare_digest(self._fingerprint(token), fingerprint):
                return DashboardSession(token.name, self._derived("csrf", number.encode()))
        return None

    def message(self, text: str, *, is_error: bool = False) -> str:
        """Return a cookie with the message for the next page."""
        return self._messages.dumps([text, is_error])

    def read_message(self, cookie: str | None) -> tuple[str, bool] | None:
        """Return the text of a message's cookie, and whether it is an error."""
        value = _loaded(self._messages, cookie, MESSAGE_MAX_AGE_S)
        return (str(value[0]), bool(value[1])) if isinstance(value, list) and len(value) == 2 else None

    def _allowed(self) -> list[Token]:
        return [token for token in self._tokens() if Group.ADMIN in token.groups]

    def _fingerprint(self, token: Token) -> str:
        return self._derived("token", token.digest)

    def _derived(self, purpose: str, data: bytes) -> str:
        return hmac.new(self._key, purpose.encode() + b"\0" + data, hashlib.sha256).hexdigest()


_SHA256: Final = {"digest_method": hashlib.sha256, "key_derivation": "hmac"}


def _loaded(serializer: URLSafeTimedSerializer, cookie: str | None, age: int) -> Any:
    if cookie is None or len(cookie) > MAX_COOKIE_CHARS:
        return None
    try:
        return serializer.loads(cookie, max_age=age)
    except BadData:
        return None
