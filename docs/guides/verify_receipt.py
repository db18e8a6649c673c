#!/usr/bin/env python3
"""Verifies a receipt of Bonded Sessions offline, with the standard library only.

    verify_receipt.py receipt.json jwks.json [stored-checkpoint consistency-proof]

jwks.json is a copy of the service's /.well-known/jwks.json, and consistency-proof the response of
/receipts/log/consistency/<size of the stored checkpoint>/<size in the receipt's proof>.
"""
import base64
import hashlib
import json
import re
import sys


def check(condition, reason):
    if not condition:
        sys.exit(f"rejected: {reason}")


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def b64url(text):
    """Strict: each value has one form."""
    data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    check(b64url_text(data) == text, "base64url is not canonical")
    return data


def b64url_text(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def b64(text):
    data = base64.b64decode(text, validate=True)
    check(base64.b64encode(data).decode() == text, "base64 is not canonical")
    return data


# Ed25519 (RFC 8032, section 6), in extended coordinates
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def ed_add(a, b):
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    x, y, z, t = f - e, h - g, h + g, f + e
    return (x * y % P, z * t % P, y * z % P, x * t % P)


def ed_multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        result = ed_add(result, point) if scalar & 1 else result
        point, scalar = ed_add(point, point), scalar >> 1
    return result


def ed_point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return (x, y, 1, x * y % P)


BASE = ed_point(bytes([0x58]) + b"\x66" * 31)


def ed25519(key, message, signature):
    point, r = ed_point(key), ed_point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if point is None or r is None or len(signature) != 64 or s >= ORDER:
        return False
    challenge = hashlib.sha512(signature[:32] + key + message).digest()
    h = int.from_bytes(challenge, "little") % ORDER
    a, b = ed_multiply(s, BASE), ed_add(r, ed_multiply(h, point))
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


# ECDSA on P-256 (FIPS 186-5)
Q = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)


def ec_add(a, b):
    if a is None or b is None:
        return b if a is None else a
    if a[0] == b[0] and (a[1] + b[1]) % Q == 0:
        return None
    slope = ((3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, Q) if a == b
             else (b[1] - a[1]) * pow(b[0] - a[0], -1, Q)) % Q
    x = (slope * slope - a[0] - b[0]) % Q
    return (x, (slope * (a[0] - x) - a[1]) % Q)


def ec_multiply(scalar, point):
    result = None
    while scalar:
        result = ec_add(result, point) if scalar & 1 else result
        point, scalar = ec_add(point, point), scalar >> 1
    return result


def der_integer(number):
    data = number.to_bytes(number.bit_length() // 8 + 1, "big")
    return bytes([2, len(data)]) + data


def ecdsa(spki, message, der):
    """The key is the last 65 bytes of an SPKI; the signature is a DER sequence of r and s."""
    x, y = int.from_bytes(spki[-64:-32], "big"), int.from_bytes(spki[-32:], "big")
    on_curve = (y * y - x**3 + 3 * x - B) % Q == 0
    if len(spki) != 91 or spki[-65] != 4 or not on_curve or der[0] != 0x30 or der[1] != len(der) - 2:
        return False
    split = 4 + der[3]
    r, s = int.from_bytes(der[4:split], "big"), int.from_bytes(der[split + 2:], "big")
    if der[2:] != der_integer(r) + der_integer(s) or not (0 < r < N and 0 < s < N):
        return False
    w, e = pow(s, -1, N), int.from_bytes(sha256(message), "big")
    point = ec_add(ec_multiply(e * w % N, G), ec_multiply(r * w % N, (x, y)))
    return point is not None and point[0] % N == r


def verify_jws(jws, keys):
    header, payload, signature = jws.split(".")
    head = json.loads(b64url(header))
    is_receipt = head["alg"] == "EdDSA" and head["typ"] == "bonded-receipt+jwt"
    check(is_receipt and "crit" not in head, "not a receipt")
    check(head["kid"] in keys, "the key is not in the key set")
    signed = ed25519(keys[head["kid"]], f"{header}.{payload}".encode(), b64url(signature))
    check(signed, "the service did not sign it")
    return json.loads(b64url(payload))


def canonical(value):
    """RFC 8785, for a payload or a context: names in ASCII, texts, and whole numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def verify_phone(claims):
    phone, context = claims["phone"], claims["context"]
    payload = json.loads(phone["payload"])
    said = {"typ": "bonded-assertion/v1", "session_id": claims["session_id"], "tenant_id": claims["aud"],
            "workflow": claims["workflow"], "action": claims["action"], "origin": claims["iss"]}
    check(all(payload[name] == value for name, value in said.items()), "the payload differs")
    check(canonical(payload) == phone["payload"], "the payload is not canonical")
    check("quorum" not in (context or {}), "one of several approvals: it proves no quorum")
    check(phone["format"] == claims["device_format"], "the format differs")
    shown = None if context is None else b64url_text(sha256(canonical(context).encode()))
    check(payload["context"] == shown, "the phone showed another context")
    client_data_hash = sha256(phone["payload"].encode())
    if phone["format"] == "webauthn":
        client_data = b64url(phone["client_data_json"])
        asked = json.loads(client_data)
        check(asked["type"] == "webauthn.get" and b64url(asked["challenge"]) == client_data_hash,
              "the browser signed another payload")
        is_framed = asked.get("crossOrigin") not in (None, False) or "topOrigin" in asked
        check(asked["origin"] == claims["iss"] and not is_framed, "the browser signed on another page")
        flags = b64url(phone["authenticator_data"])[32]
        check(flags & 5 == 5, "the authenticator did not verify the user")
        client_data_hash = sha256(client_data)
    signed = b64url(phone["authenticator_data"]) + client_data_hash
    signed = sha256(signed) if phone["format"] == "apple-app-attest" else signed
    check(ecdsa(b64url(phone["public_key"]), signed, b64url(phone["signature"])), "the phone did not sign it")


def open_checkpoint(note, keys):
    text, _, signatures = note.rpartition("\n\n")
    text += "\n"
    origin, size, root = text.split("\n")[:3]
    for line in signatures.splitlines():
        _, name, data = line.split(" ")
        for key in keys.values():
            if name == origin and b64(data)[:4] == sha256(f"{name}\n\1".encode(), key)[:4]:
                check(ed25519(key, text.encode(), b64(data)[4:]), "a checkpoint is not signed")
                return origin, int(size), b64(root)
    return check(False, "a checkpoint is not signed")


def node(left, right):
    return sha256(b"\1", left, right)


def root_of(index, size, path, leaf, old=None):
    """RFC 9162, 2.1.3.2 and 2.1.4.2: the root; with old, also the root of the older tree."""
    last = size - 1
    for sibling in path:
        check(last > 0, "a proof is too long")
        if index & 1 or index == last:
            leaf, old = node(sibling, leaf), old and node(sibling, old)
            while not index & 1 and index:
                index, last = index >> 1, last >> 1
        else:
            leaf = node(leaf, sibling)
        index, last = index >> 1, last >> 1
    check(last == 0, "a proof is too short")
    return leaf, old


def service_log(origin):
    return re.sub(r"(/receipts/log)/[\w-]{22}$", r"\1", origin)


def verify_inclusion(receipt, proof, origin, keys):
    head, _, checkpoint = proof.partition("\n\n")
    version, index, *path = [line for line in head.split("\n") if not line.startswith("extra ")]
    check(version == "c2sp.org/tlog-proof@v1" and re.fullmatch(r"index (0|[1-9]\d{0,14})", index), "not a proof")
    name, size, root = open_checkpoint(checkpoint, keys)
    # A log that was closed is continued by another one of the same service.
    check(service_log(name) == service_log(origin), "the checkpoint is of another log")
    check(int(index[6:]) < size, "the checkpoint does not cover it")
    leaf = sha256(b"\0", sha256(receipt.encode()))
    found, _ = root_of(int(index[6:]), size, [b64(line) for line in path], leaf)
    check(found == root, "the log does not have it")
    return name, size, root


def verify_consistency(older, newer, proof):
    if older[0] != newer[0] and service_log(older[0]) == service_log(newer[0]):
        check(False, f"of two logs: {older[0]} was closed. Use bonded receipt verify-log --closed")
    check(older[0] == newer[0] and older[1] <= newer[1], "the checkpoints are of different logs")
    if older[1] == newer[1] or older[1] == 0:
        root = newer[2] if older[1] == newer[1] else sha256()
        check(not proof and older[2] == root, "the log was rewritten")
        return
    index, last = older[1] - 1, newer[1] - 1
    while index & 1:
        index, last = index >> 1, last >> 1
    first, *rest = ([older[2]] if index == 0 else []) + proof
    new_root, old_root = root_of(index, last + 1, rest, first, first)
    check((old_root, new_root) == (older[2], newer[2]), "the log was rewritten")


def main(receipt_file, jwks_file, older_file=None, consistency_file=None):
    stored = json.load(open(receipt_file, encoding="utf-8"))
    jwks = json.load(open(jwks_file, encoding="utf-8"))
    keys = {key["kid"]: b64url(key["x"]) for key in jwks["keys"]}
    claims = verify_jws(stored["receipt"], keys)
    verify_phone(claims)
    print(f"{claims['state']} at {claims['completed_at'] or claims['bonded_at']}")
    context = claims["context"] or {}
    if requester := context.get("requester"):
        print(f"  for the {requester['kind']} {requester['name']}", requester.get("detail", ""))
    for line in context.get("display", []):
        print(f"  {line['label']}: {line['value']}")
    for number, line in enumerate(context.get("text", "").split("\n") if "text" in context else [], 1):
        print(f"  {number:3} {line}")
    if stored.get("proof"):
        newer = verify_inclusion(stored["receipt"], stored["proof"], claims["log_origin"], keys)
        print(f"in the log {newer[0]} of {newer[1]} entries")
        if older_file:
            older = open_checkpoint(open(older_file, encoding="utf-8").read(), keys)
            lines = open(consistency_file, encoding="utf-8").read().split()
            verify_consistency(older, newer, [b64(line) for line in lines])
            print(f"which only grew since {older[1]} entries")
    print("accepted")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (ValueError, KeyError, TypeError, IndexError, OSError) as failure:
        check(False, f"malformed ({type(failure).__name__})")
