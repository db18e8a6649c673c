"""Verifies that the service signed a delivery (Standard Webhooks, `v1` and `v1a`)."""
from __future__ import annotations

import dataclasses
import hashlib
import hmac
import re
import time
from typing import Callable, Mapping, Sequence

from .canonical import Verdict, from_b64, is_signed
from .errors import BondedError

# Five minutes in either direction limit the replay of a recorded delivery.
TOLERANCE_SECONDS = 300
# Of three secrets in both versions. Each costs a verification.
_MAX_SIGNATURES = 6


@dataclasses.dataclass(frozen=True)
class WebhookVerdict(Verdict):
    """`reason` is None for a delivery that is accepted.

    A repeated delivery has the same `id`: store it, and act once.
    """

    id: str | None = None
    sent_at: float | None = None


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes,
    secret: str | Sequence[str],
    *,
    now: Callable[[], float] = time.time,
) -> WebhookVerdict:
    """Verifies a delivery. Return 400 for a rejected one, and parse the body only after.

    `body` are the unparsed bytes. `secret` is that of the endpoint, with `v1a` its public key;
    several while it is being rotated. `headers` are those of your framework.
    """
    if not isinstance(body, bytes):
        message = "Pass the unparsed bytes of the body: the signature covers them."
        raise BondedError("invalid_configuration", message)
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets:
        raise BondedError("invalid_configuration", "Pass the secret of the endpoint.")
    keys = [_parse(one) for one in secrets]
    id, timestamp, given = (_header(headers, name) for name in ("id", "timestamp", "signature"))
    if not id or not timestamp or not given:
        return WebhookVerdict("header_missing")
    if not re.fullmatch("[0-9]{1,12}", timestamp):
        return WebhookVerdict("timestamp_malformed")
    sent_at = float(timestamp)
    # The timestamp has whole seconds, so the tolerance applies in both directions.
    if abs(now() - sent_at) > TOLERANCE_SECONDS:
        return WebhookVerdict("timestamp_out_of_range")
    signed = f"{id}.{timestamp}.".encode() + body
    if not any(_is_signed(kind, key, given, signed) for kind, key in keys):
        return WebhookVerdict("signature_mismatch")
    return WebhookVerdict(None, id, sent_at)


def _header(headers: Mapping[str, str], name: str) -> str | None:
    """A header that was sent once. A header sent twice is ambiguous and counts as missing."""
    wanted = f"webhook-{name}"
    found = [value for given, value in headers.items() if given.lower() == wanted]
    return found[0] if len(found) == 1 and isinstance(found[0], str) else None


def _parse(secret: str) -> tuple[str, bytes]:
    """The version of the signatures that count, and the key: a sender cannot choose another."""
    is_public = secret.startswith("whpk_")
    key = from_b64(secret.removeprefix("whpk_" if is_public else "whsec_"))
    if not key or (is_public and len(key) != 32):
        raise BondedError(
            "invalid_configuration",
            "The webhook secret is malformed. It is whsec_ (v1) or whpk_ (v1a) and the base64 of its"
            " bytes: copy the one shown when the endpoint was created.",
        )
    return ("v1a" if is_public else "v1"), key


def _is_signed(version: str, key: bytes, header: str, signed: bytes) -> bool:
    mac = hmac.new(key, signed, hashlib.sha256).digest()
    is_valid = False
    for entry in header.split(" ")[:_MAX_SIGNATURES]:
        kind, _, text = entry.partition(",")
        signature = from_b64(text) if kind == version else None
        if signature is None:
            continue
        if version == "v1":
            is_valid |= hmac.compare_digest(mac, signature)
        else:
            is_valid |= is_signed(key, signature, signed)
    return is_valid
