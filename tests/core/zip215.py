"""The equation of ZIP-215 (zips.z.cash/zip-0215), written down plainly: an oracle, milliseconds a signature.

Points may be written non-canonically and may have small order, the scalar must be canonical, and the equation
is checked times the cofactor eight: [8][s]B = [8]R + [8][k]A.
"""

from __future__ import annotations

from hashlib import sha512

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_MINUS_ONE = pow(2, (P - 1) // 4, P)

Point = tuple[int, int, int, int]
"""Extended homogeneous coordinates (X, Y, Z, T), with x = X/Z, y = Y/Z, T = XY/Z (RFC 8032, 5.1.4)."""
IDENTITY: Point = (0, 1, 1, 0)


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Return whether the equation of ZIP-215 holds."""
    scalar = int.from_bytes(signature[32:], "little")
    key, commitment = _decompress(public), _decompress(signature[:32])
    if scalar >= ORDER or key is None or commitment is None:
        return False
    challenge = int.from_bytes(sha512(signature[:32] + public + message).digest(), "little") % ORDER
    difference = _add(_negate(_multiply(scalar, BASE)), _add(commitment, _multiply(challenge, key)))
    return _is_identity(_double(_double(_double(difference))))


def _decompress(encoded: bytes) -> Point | None:
    """Return the point by RFC 8032, 5.1.3, but with any y below 2^255, and the sign bit where x = 0."""
    value = int.from_bytes(encoded, "little")
    sign, y = value >> 255, (value & (1 << 255) - 1) % P
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if v * x * x % P == -u % P:
        x = x * SQRT_MINUS_ONE % P
    if v * x * x % P != u:
        return None
    if x & 1 != sign:
        x = -x % P
    return x, y, 1, x * y % P


def _add(p: Point, q: Point) -> Point:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _double(p: Point) -> Point:
    return _add(p, p)


def _negate(p: Point) -> Point:
    return -p[0] % P, p[1], p[2], -p[3] % P


def _multiply(scalar: int, point: Point) -> Point:
    result = IDENTITY
    for bit in bin(scalar)[2:]:
        result = _double(result)
        if bit == "1":
            result = _add(result, point)
    return result


def _is_identity(p: Point) -> bool:
    return p[0] % P == 0 and (p[1] - p[2]) % P == 0


def _base() -> Point:
    point = _decompress((4 * pow(5, -1, P) % P).to_bytes(32, "little"))
    assert point is not None  # the generator of RFC 8032 lies on the curve
    return point


BASE = _base()
