"""What the programs that write proofs/kit/vectors share: encodings, keys, signatures, and files.

    for file in write_*.py; do python3 $file; done

No code of Bonded Sessions is used. The bytes are always the same: nonces of ECDSA are those of
RFC 6979.
"""
import base64
import hashlib
import hmac
import json
import math
import pathlib

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

VECTORS = pathlib.Path(__file__).parents[3] / "kit/vectors"
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ORIGIN, TENANT = "https://bond.example", "ten_Q8rFv5jN2oTx6DeUl3WmKc"
SESSION, DEVICE = "sess_7Ud2kQ9mZrB4xVnT1cLe0A", "dev_Xo5pGh3YbN8sWq6KtJ2fRv"
SUBJECT = "sub_1aMzC4uE9iHdPy7LkSg0Bw"
APPS = {
    "software": "software",
    "android-key": "example.bank:" + "ab" * 32,
    "apple-app-attest": "A1B2C3D4E5.example.bank",
    "webauthn": "bond.example",
}


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def mac(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def b64(data):
    return base64.b64encode(data).decode()


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def loose(text):
    """The same bytes in another form: the unused bits of the last character are not 0."""
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return text[:-1] + digits[digits.index(text[-1]) | 1]


def number(value):
    """ECMAScript's form of a number, for those of the vectors."""
    if isinstance(value, int):
        return str(value)
    if value == math.floor(value) and abs(value) < 1e21:
        return str(int(value))
    digits, _, exponent = repr(value).partition("e")
    if not exponent:
        return digits
    power = int(exponent)
    if -7 < power < 0:
        return "0." + "0" * (-power - 1) + digits.replace(".", "")
    return f"{digits.removesuffix('.0')}e{'+' if power > 0 else '-'}{abs(power)}"


def jcs(value):
    """RFC 8785."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{jcs(name)}:{jcs(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(jcs, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def sha(value):
    """SHA(x) of the protocol page for a text, SHA(JCS(x)) for any other value."""
    return b64url(sha256((value if isinstance(value, str) else jcs(value)).encode()))


def scalar(name):
    return int.from_bytes(sha256(b"bonded kit " + name.encode()), "big") % N


def spki(name, curve=ec.SECP256R1):
    public = ec.derive_private_key(scalar(name), curve()).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return public.public_bytes(serialization.Encoding.DER, form)


def ecdsa_numbers(name, message):
    secret, digest = scalar(name), sha256(message)
    z = int.from_bytes(digest, "big")
    seed = secret.to_bytes(32, "big") + (z % N).to_bytes(32, "big")
    k, v = b"\0" * 32, b"\1" * 32
    for separator in (b"\0", b"\1"):
        k = mac(k, v, separator, seed)
        v = mac(k, v)
    nonce = int.from_bytes(mac(k, v), "big")
    r = ec.derive_private_key(nonce, ec.SECP256R1()).public_key().public_numbers().x % N
    return r, pow(nonce, -1, N) * (z + r * secret) % N


def ecdsa(name, message):
    return encode_dss_signature(*ecdsa_numbers(name, message))


def ed_key(name):
    return ed25519.Ed25519PrivateKey.from_private_bytes(sha256(b"bonded kit " + name.encode()))


def ed_public(name):
    raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
    return ed_key(name).public_key().public_bytes(*raw)


def flip(text, at=10):
    """The text with another character of base64url."""
    return text[:at] + ("B" if text[at] == "A" else "A") + text[at + 1 :]


class File:
    """A file of vectors. The rule of a test begins with a section of the protocol page."""

    def __init__(self, name, about):
        self.name, self.content, self.tests = name, {"about": about}, []

    def add(self, valid, rule, comment, given):
        test = {"id": len(self.tests) + 1, "valid": valid, "rule": rule, "comment": comment}
        self.tests.append({**test, "input": given})

    def valid(self, *of):
        self.add(True, *of)

    def invalid(self, *of):
        self.add(False, *of)

    def write(self):
        self.content["tests"] = self.tests
        text = json.dumps(self.content, indent=1)
        (VECTORS / f"{self.name}.json").write_text(text + "\n")
        print(f"{self.name}: {len(self.tests)}")
