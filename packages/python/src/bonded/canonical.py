"""Canonical JSON (RFC 8785), digests, signatures, and base64 with one form for each value."""
from __future__ import annotations

import base64
import binascii
import dataclasses
import decimal
import hashlib
import json
import math
import re
from typing import Any, Mapping

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .errors import NotCanonicalError


@dataclasses.dataclass(frozen=True)
class Verdict:
    """`reason` is None for what is accepted."""

    reason: str | None = None

    @property
    def accepted(self) -> bool:
        return self.reason is None


MAX_INTEGER = 2**53 - 1
# The white space of JavaScript, which differs from that of Python.
JS_SPACE = (
    "\t\n\x0b\x0c\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_REPEATED = re.compile(f"(?<=[{JS_SPACE}])[{JS_SPACE}]|(?<=')'")


def canonical_json(value: Any) -> str:
    """The one text of a JSON value, as all clients of the protocol write it.

    >>> canonical_json({"b": 1, "a": [None]})
    '{"a":[null],"b":1}'
    """
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    if isinstance(value, Mapping):
        members = (f"{_scalar(name)}:{canonical_json(value[name])}" for name in _names(value))
        return "{" + ",".join(members) + "}"
    return _scalar(value)


def binding_digest(record: Any) -> str:
    """The digest of a record, for the context at create and of the submitted form later."""
    return b64url(hashlib.sha256(canonical_json(record).encode()).digest())


def indented_json(value: Any, indent: str = "\n") -> str:
    """The text of arguments, before escapes: as `JSON.stringify(value, null, 2)` writes it."""
    inner = indent + "  "
    if not value or not isinstance(value, (list, dict)):
        return _shown(value) if isinstance(value, str) else canonical_json(value)
    if isinstance(value, list):
        first, last, members = "[", "]", [indented_json(one, inner) for one in value]
    else:
        pairs = ((_shown(one), indented_json(value[one], inner)) for one in _in_js_order(value))
        first, last, members = "{", "}", [f"{name}: {member}" for name, member in pairs]
    return first + inner + f",{inner}".join(members) + indent + last


def _shown(text: str) -> str:
    """A string whose runs of blanks or apostrophes cannot draw a row or a quotation mark."""
    return _REPEATED.sub(lambda one: escape_units(one[0]), _scalar(text))


def _in_js_order(value: Mapping[str, Any]) -> list[str]:
    """JavaScript has the names that are indexes of a list before all others, by their number."""
    is_index = re.compile("0|[1-9][0-9]{0,9}").fullmatch
    indexes = [name for name in value if is_index(name) and int(name) < 2**32 - 1]
    return sorted(indexes, key=int) + [name for name in _names(value) if name not in indexes]


def escape_units(text: str) -> str:
    """Characters as the escapes of JSON, one for each unit of UTF-16."""
    units = text.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at:at + 4]}" for at in range(0, len(units), 4))


def _names(value: Mapping[Any, Any]) -> list[str]:
    if not all(isinstance(name, str) for name in value):
        raise NotCanonicalError("the name of a member is not a string")
    return sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))


def _scalar(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, str):
        if any("\ud800" <= one <= "\udfff" for one in value):
            raise NotCanonicalError("a string has a lone surrogate")
        return json.dumps(str(value), ensure_ascii=False)
    if isinstance(value, (int, float)):
        return _number(value)
    raise NotCanonicalError(f"a {type(value).__name__} has no JSON form: pass a string")


def _number(value: float) -> str:
    """As ECMAScript writes it. JavaScript reads several large integers as one: pass strings."""
    if not math.isfinite(value):
        raise NotCanonicalError(f"{value} has no JSON form")
    if value == int(value):
        if abs(value) > MAX_INTEGER:
            raise NotCanonicalError("pass an integer beyond 2^53 - 1 as a string")
        return str(int(value))
    sign, places, exponent = decimal.Decimal(repr(float(value))).as_tuple()
    digits, point = "".join(map(str, places)), len(places) + int(exponent)
    minus = "-" if sign else ""
    if 0 < point <= 21:
        return f"{minus}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{digits}"
    fraction = f".{digits[1:]}" if digits[1:] else ""
    return f"{minus}{digits[0]}{fraction}e{point - 1:+d}"


def object_in(data: str | bytes | None) -> dict[str, Any] | None:
    """The object that a text is, or None for any other text."""
    try:
        value = json.loads(data.decode() if isinstance(data, bytes) else data or "")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def is_signed(key: bytes, signature: bytes, data: bytes) -> bool:
    """Whether this Ed25519 key signed it."""
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_b64url(text: str) -> bytes | None:
    """The bytes, or None for anything that an encoder would not have written."""
    padded = text + "=" * (-len(text) % 4)
    data = from_b64(padded.replace("-", "+").replace("_", "/"))
    return data if data is not None and b64url(data) == text else None


def from_b64(text: str) -> bytes | None:
    """The same for padded base64."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if base64.b64encode(data).decode() == text else None
