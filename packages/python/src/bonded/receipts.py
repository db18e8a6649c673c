"""Verifies receipts offline, that the log has them, and that the log only grew (protocol 13)."""
from __future__ import annotations

import dataclasses
import hashlib
import re
from typing import Any, Iterator, Mapping, Sequence

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key

from .canonical import Verdict, b64url, canonical_json, from_b64, from_b64url, is_signed, object_in
from .errors import BondedError, NotCanonicalError
from .gate import time_of

# A JSON Web Key Set: the content of /.well-known/jwks.json. Keep a copy with your receipts.
KeySet = Mapping[str, Any]
# The answers of the service: `{receipt, proof}`.
Receipts = Sequence[Mapping[str, Any]]

_TEXT_OR_NONE = (str, type(None))
_MEMBERS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys("iss aud jti environment state session_id workflow action".split(), (str,)),
    **dict.fromkeys("tenant_name device_format created_at bonded_at log_origin".split(), (str,)),
    **dict.fromkeys(("requesting_origin", "subject_ref", "completed_at", "outcome"), _TEXT_OR_NONE),
    **dict.fromkeys(("context", "workflow_title", "action_title"), (dict, type(None))),
    **dict.fromkeys(("iat", "log_delay_seconds"), (int,)),
    **dict.fromkeys(("verification", "phone"), (dict,)),
}
_OF_PHONE = ("format", "public_key", "payload", "authenticator_data", "signature")


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """A signed statement of the log: how many entries it has, and the root of its tree."""

    origin: str
    size: int
    root: bytes


# A request in an inbox waits a day at most, and all of a quorum are created at once. A fraction of
# a millisecond is lost in the numbers.
_LONGEST_WINDOW_SECONDS = 86_400.0005


@dataclasses.dataclass(frozen=True)
class ReceiptVerdict(Verdict):
    """`reason` is None for a receipt that is accepted, which then has its claims."""

    claims: Mapping[str, Any] | None = None
    # The checkpoint that covers the receipt, or the newer one. None without a proof.
    checkpoint: Checkpoint | None = None


@dataclasses.dataclass(frozen=True)
class QuorumVerdict(Verdict):
    """`reason` is None for receipts that are accepted, which `receipts` then has in their order."""

    receipts: Sequence[ReceiptVerdict] = ()


class _Rejected(Exception):
    pass


def verify_receipt(
    receipt: str,
    jwks: KeySet,
    *,
    issuer: str | None = None,
    tenant_id: str | None = None,
    session_id: str | None = None,
    proof: str | None = None,
) -> ReceiptVerdict:
    """Verifies that the service signed it, and the phone's key what it says that the user approved.

    With a `proof`, also that the service's log has it. Pass what you expect: `issuer`, such as
    `https://bond.example`, your `tenant_id`, and the session.

    >>> verify_receipt("eyJ…", {"keys": []}).reason
    'malformed'
    """
    try:
        return _verify(receipt, jwks, proof, issuer, tenant_id, session_id, is_alone=True)
    except _Rejected as rejection:
        return ReceiptVerdict(str(rejection))


def verify_quorum(
    receipts: Receipts, jwks: KeySet, *, minimum: int, tenant_id: str, workflow: str, digest: str
) -> QuorumVerdict:
    """Verifies offline that several people approved the same action together (protocol 16).

    `receipts` are the answers of the service for the completed sessions. `minimum` is how many
    people had to approve at least by your own rules, and `digest` the `context.digest` of the
    create, computed again from your record of the action.
    """
    try:
        verdicts = [
            _verify(one["receipt"], jwks, one.get("proof"), None, tenant_id) for one in receipts
        ]
        signed = [one.claims or {} for one in verdicts]
        _check(signed, "too_few_receipts")
        _check(all(one["workflow"] == workflow for one in signed), "workflow_mismatch")
        context = signed[0]["context"] or {}
        rule = context.get("quorum")
        # The rule is a part of the text that each phone has signed.
        texts = {(one["iss"], one["action"], canonical_json(one["context"])) for one in signed}
        if not isinstance(rule, dict) or len(texts) > 1:
            raise _Rejected("quorum_mismatch")
        _check(context.get("digest") == digest, "digest_mismatch")
        is_number = type(minimum) is type(rule.get("needed")) is int
        _check(is_number and rule["needed"] >= max(2, minimum), "needed_too_low")
        ends = {(one["state"], one["outcome"]) for one in signed}
        _check(ends == {("completed", "accepted")}, "not_completed")
        users = {one["subject_ref"] for one in signed} - {None}
        keys = {one["phone"]["public_key"] for one in signed}
        _check(len(users) == len(keys) == len(signed), "user_repeated")
        _check(len(signed) >= rule["needed"], "too_few_receipts")
        times = [[time_of(one[name]) for one in signed] for name in ("created_at", "bonded_at")]
        spans = [last - first for first in times[0] for last in times[1]]
        _check(all(one <= _LONGEST_WINDOW_SECONDS for one in spans), "too_far_apart")
        return QuorumVerdict(receipts=verdicts)
    except _Rejected as rejection:
        return QuorumVerdict(str(rejection))


def verify_consistency(older: str, newer: str, proof: str, jwks: KeySet) -> ReceiptVerdict:
    """Verifies that the log of a newer checkpoint begins with all entries of an older one.

    `proof` is the response of `/receipts/log/consistency/<older size>/<newer size>`. A log that was
    closed and continued by another one is `log_mismatch`: verify it with `bonded receipt verify-log`.
    """
    try:
        keys = _keys_of(jwks)
        before, after = _open_checkpoint(older, keys), _open_checkpoint(newer, keys)
        _check(before.origin == after.origin, "log_mismatch")
        hashes = _hashes(line for line in proof.split("\n") if line)
        _check(_is_consistent(before, after, hashes), "log_rewritten")
        return ReceiptVerdict(checkpoint=after)
    except _Rejected as rejection:
        return ReceiptVerdict(str(rejection))


def _verify(
    receipt: str, jwks: KeySet, proof: str | None, *expected: str | None, is_alone: bool = False
) -> ReceiptVerdict:
    issuer, tenant_id, session_id = [*expected, None][:3]
    claims = _claims_of(receipt, _keys_of(jwks))
    _check(issuer in (None, claims["iss"]), "issuer_mismatch")
    _check(tenant_id in (None, claims["aud"]), "tenant_mismatch")
    _check(session_id in (None, claims["session_id"]), "session_mismatch")
    _check_payload(claims)
    _check(_is_signed_by_phone(claims["phone"], claims["iss"]), "phone_signature_mismatch")
    _check(not is_alone or not (claims["context"] or {}).get("quorum"), "one_of_several")
    covered = None
    if proof is not None:
        covered = _check_inclusion(receipt, proof, claims["log_origin"], _keys_of(jwks))
    return ReceiptVerdict(claims=claims, checkpoint=covered)


def _check(condition: object, reason: str) -> None:
    if not condition:
        raise _Rejected(reason)


def _keys_of(jwks: KeySet) -> list[tuple[str | None, bytes]]:
    """The Ed25519 keys of a set, with their ids."""
    keys = jwks.get("keys") if isinstance(jwks, Mapping) else None
    if not isinstance(keys, list):
        message = "Pass a JSON Web Key Set: the content of /.well-known/jwks.json."
        raise BondedError("invalid_configuration", message)
    found = []
    for key in keys:
        if key.get("crv") == "Ed25519" and "x" in key:
            public = from_b64url(key["x"])
            if public is None or len(public) != 32:
                raise BondedError("invalid_configuration", "A key of the key set is malformed.")
            found.append((key.get("kid"), public))
    return found


def _claims_of(receipt: str, keys: list[tuple[str | None, bytes]]) -> dict[str, Any]:
    parts = receipt.split(".")
    _check(len(parts) == 3, "malformed")
    head, signature = object_in(from_b64url(parts[0])) or {}, from_b64url(parts[2])
    form = tuple(map(head.get, ("alg", "typ", "crit")))
    is_receipt = form == ("EdDSA", "bonded-receipt+jwt", None)
    if signature is None or not is_receipt:
        raise _Rejected("malformed")
    key = next((public for kid, public in keys if kid == head.get("kid")), None)
    if key is None:
        raise _Rejected("key_unknown")
    _check(is_signed(key, signature, f"{parts[0]}.{parts[1]}".encode()), "signature_mismatch")
    claims = object_in(from_b64url(parts[1])) or {}
    is_whole = all(isinstance(claims.get(name, ...), kinds) for name, kinds in _MEMBERS.items())
    _check(is_whole, "malformed")
    phone = claims["phone"]
    _check(all(isinstance(phone.get(name), str) for name in _OF_PHONE), "malformed")
    return claims


def _check_payload(claims: Mapping[str, Any]) -> None:
    """What the phone signed must be what the receipt says."""
    phone, context = claims["phone"], claims["context"]
    payload = object_in(phone["payload"].encode("utf-8", "replace")) or {}
    said = {"typ": "bonded-assertion/v1", "tenant_id": claims["aud"], "origin": claims["iss"]}
    said |= {name: claims[name] for name in ("session_id", "workflow", "action")}
    is_same = all(payload.get(name) == value for name, value in said.items())
    is_same = is_same and _canonical(payload) == phone["payload"]
    _check(is_same and phone["format"] == claims["device_format"], "payload_mismatch")
    shown = None if context is None else b64url(_sha256(_canonical(context).encode()))
    _check(payload.get("context", ...) == shown, "context_mismatch")


def _canonical(value: Any) -> str:
    try:
        return canonical_json(value)
    except NotCanonicalError:
        raise _Rejected("malformed") from None


def _is_signed_by_phone(phone: Mapping[str, Any], origin: str) -> bool:
    """Whether the phone's key signed the payload of a receipt, by its format (protocol 5)."""
    hashed = _sha256(phone["payload"].encode("utf-8", "replace"))
    if phone["format"] == "webauthn":
        client_data = from_b64url(str(phone.get("client_data_json", "")))
        asked = object_in(client_data) or {}
        said = tuple(map(asked.get, ("type", "challenge", "origin")))
        is_framed = asked.get("crossOrigin") not in (None, False) or "topOrigin" in asked
        if said != ("webauthn.get", b64url(hashed), origin) or is_framed:
            return False
        hashed = _sha256(client_data or b"")
    names = ("authenticator_data", "signature", "public_key")
    data, signature, spki = (from_b64url(phone[name]) for name in names)
    if data is None or signature is None or spki is None:
        return False
    # A user who was present, and whom the authenticator verified.
    if phone["format"] == "webauthn" and (len(data) < 37 or data[32] & 5 != 5):
        return False
    signed = data + hashed
    try:
        key = load_der_public_key(spki)
        if not isinstance(key, EllipticCurvePublicKey) or not isinstance(key.curve, SECP256R1):
            return False
        is_apple = phone["format"] == "apple-app-attest"
        key.verify(signature, _sha256(signed) if is_apple else signed, ECDSA(SHA256()))
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True


def _open_note(note: str, keys: list[tuple[str | None, bytes]]) -> list[str] | None:
    """The lines of a note (c2sp.org/signed-note) that a key of the set signed under its name."""
    text, separator, signatures = note.rpartition("\n\n")
    text += separator[:1]
    origin, *rest = text[:-1].split("\n")
    for line in signatures.split("\n"):
        dash, name, encoded = [*line.split(" "), "", "", ""][:3]
        signature = from_b64(encoded) if (dash, name) == ("—", origin) else None
        for _, key in keys if signature else []:
            # The name, a newline, the type of the signature, and the key.
            key_id = _sha256(f"{origin}\n\x01".encode() + key)[:4]
            given, signed = (signature or b"")[:4], (signature or b"")[4:]
            if given == key_id and is_signed(key, signed, text.encode()):
                return [origin, *rest]
    return None


def _open_checkpoint(note: str, keys: list[tuple[str | None, bytes]]) -> Checkpoint:
    lines = _open_note(note, keys) or []
    root = from_b64(lines[2]) if len(lines) == 3 else None
    if root is None or len(root) != 32 or not re.fullmatch("0|[1-9][0-9]{0,14}", lines[1]):
        raise _Rejected("checkpoint_unsigned")
    return Checkpoint(lines[0], int(lines[1]), root)


def _check_inclusion(
    receipt: str, proof: str, origin: str, keys: list[tuple[str | None, bytes]]
) -> Checkpoint:
    head, separator, note = proof.partition("\n\n")
    version, *lines = head.split("\n")
    index, *path = [line for line in lines if not line.startswith("extra ")] or [""]
    found = re.fullmatch("index (0|[1-9][0-9]{0,14})", index)
    if not separator or version != "c2sp.org/tlog-proof@v1" or found is None:
        raise _Rejected("proof_malformed")
    hashes = _hashes(path)
    _check(all(len(one) == 32 for one in hashes), "proof_malformed")
    checkpoint = _open_checkpoint(note, keys)
    # A log that was closed is continued by another one of the same service.
    _check(_service_log(checkpoint.origin) == _service_log(origin), "log_mismatch")
    leaf = _sha256(b"\0" + _sha256(receipt.encode("utf-8", "replace")))
    roots = _roots(int(found[1]), checkpoint.size - 1, hashes, leaf, leaf)
    is_covered = int(found[1]) < checkpoint.size and roots is not None
    _check(is_covered and roots and roots[1] == checkpoint.root, "not_included")
    return checkpoint


def _service_log(origin: str) -> str:
    """The name of the first log of a service, whose later ones have an epoch behind it."""
    return re.sub(r"(/receipts/log)/[\w-]{22}\Z", r"\1", origin, flags=re.ASCII)


def _hashes(lines: Iterator[str] | Sequence[str]) -> list[bytes]:
    hashes = [from_b64(line) for line in lines]
    _check(None not in hashes, "proof_malformed")
    return [one for one in hashes if one is not None]


def _is_consistent(older: Checkpoint, newer: Checkpoint, proof: list[bytes]) -> bool:
    """Whether the newer tree begins with the older one (RFC 9162, 2.1.4.2)."""
    if older.size > newer.size:
        return False
    if older.size in (0, newer.size):
        known = newer.root if older.size == newer.size else _sha256(b"")
        return not proof and older.root == known
    index, last = older.size - 1, newer.size - 1
    while index & 1:
        index, last = index >> 1, last >> 1
    path = [older.root, *proof] if index == 0 else proof
    if not path:
        return False
    return _roots(index, last, path[1:], path[0], path[0]) == (older.root, newer.root)


def _roots(
    index: int, last: int, path: list[bytes], before: bytes, after: bytes
) -> tuple[bytes, bytes] | None:
    """The roots that a proof leads to, of the older tree and of the newer one (RFC 9162, 2.1)."""
    for sibling in path:
        if last == 0:
            return None
        if index & 1 or index == last:
            before, after = _node(sibling, before), _node(sibling, after)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            after = _node(after, sibling)
        index, last = index >> 1, last >> 1
    return (before, after) if last == 0 else None


def _node(left: bytes, right: bytes) -> bytes:
    return _sha256(b"\1" + left + right)


def _sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
