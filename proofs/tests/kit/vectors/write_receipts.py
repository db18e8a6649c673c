"""receipts.json, logs.json, witnesses.json, and webhooks.json: what a verifier checks."""
import copy

from common import *
from write_assertions import ASSERTION, CONTEXT, client_data, near_der, payload, signed

LOG = "bond.example/receipts/log"
EPOCH = LOG + "/x0W3AbCdEfGhIjKlMnOpQr"
VERIFICATION = {
    "device_possession": True,
    "key_attested": False,
    "local_auth": "verified",
    "assertion_confidence": 0.7,
    "human_presence_confidence": 0.7,
    "assertion_band": "medium",
    "continuity_score_long_lived": 0.25,
    "carrier": {"number_verified": False, "sim_swap_recent": False, "device_status": "unknown"},
    "sensor_continuity": {"motion_present": True, "continuity_score": 0.25},
}


def thumbprint(public):
    return sha({"crv": "Ed25519", "kty": "OKP", "x": b64url(public)})


def jwk(name):
    public = ed_public(name)
    return {
        "kty": "OKP",
        "crv": "Ed25519",
        "alg": "EdDSA",
        "use": "sig",
        "kid": thumbprint(public),
        "x": b64url(public),
    }


JWKS = {"keys": [jwk("service"), jwk("retired service")]}


def claims(form="software", context=CONTEXT, made=None, text=None, **change):
    text = text or payload("bonded-assertion/v1", {**ASSERTION, "context": context})
    made = made or signed(form, text)
    phone = {
        "format": form,
        "public_key": b64url(spki("phone")),
        "payload": text,
        **{name: value for name, value in made.items() if name != "client_data_hash"},
    }
    return {
        "iss": ORIGIN,
        "aud": TENANT,
        "iat": 1795253405,
        "jti": sha("jti")[:22],
        "environment": "sandbox",
        "state": "bonded",
        "session_id": SESSION,
        "workflow": "credit_application",
        "action": "submit_application",
        "context": context,
        "tenant_name": "Example Bank",
        "workflow_title": {"en": "Loan application"},
        "action_title": None,
        "requesting_origin": None,
        "subject_ref": sha("subject"),
        "device_ref": sha(f"bonded-device-ref/v1\n{sha('subject')}\n{DEVICE}"),
        "verification": VERIFICATION,
        "device_format": form,
        "created_at": "2026-11-21T09:29:50.000Z",
        "bonded_at": "2026-11-21T09:30:03.250Z",
        "completed_at": None,
        "outcome": None,
        "log_origin": LOG,
        "log_delay_seconds": 60,
        "phone": phone,
        **change,
    }


def encode(value):
    return b64url(
        json.dumps(value, ensure_ascii=False).encode() if not isinstance(value, bytes) else value
    )


def jws(content, key="service", **change):
    head = {
        "alg": "EdDSA",
        "kid": thumbprint(ed_public(key)),
        "typ": "bonded-receipt+jwt",
        **change,
    }
    text = f"{encode(head)}.{encode(content)}"
    return f"{text}.{b64url(ed_key(key).sign(text.encode()))}"


def leaf(entry):
    return sha256(b"\0", entry)


def root(leaves):
    if len(leaves) <= 1:
        return leaves[0] if leaves else sha256()
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return sha256(b"\1", root(leaves[:split]), root(leaves[split:]))


def inclusion(index, leaves):
    """RFC 9162, 2.1.3.1."""
    if len(leaves) == 1:
        return []
    split = 1 << (len(leaves) - 1).bit_length() - 1
    if index < split:
        return inclusion(index, leaves[:split]) + [root(leaves[split:])]
    return inclusion(index - split, leaves[split:]) + [root(leaves[:split])]


def consistency(old, leaves, whole=True):
    """RFC 9162, 2.1.4.1."""
    if old == len(leaves):
        return [] if whole else [root(leaves)]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    if old <= split:
        return consistency(old, leaves[:split], whole) + [root(leaves[split:])]
    return consistency(old - split, leaves[split:], False) + [root(leaves[:split])]


def note(lines, key="service", name=None, more=""):
    text = "".join(line + "\n" for line in lines)
    name, public = name or lines[0], ed_public(key)
    signature = sha256(f"{name}\n\1".encode(), public)[:4] + ed_key(key).sign(text.encode())
    return f"{text}\n— {name} {b64(signature)}\n{more}"


def checkpoint(leaves, origin=LOG, **of):
    return note([origin, str(of.pop("size", len(leaves))), b64(of.pop("hash", root(leaves)))], **of)


def entries(count, receipt=None, index=0):
    """The leaves of a log, with the receipt at its place."""
    made = [leaf(sha256(b"entry %d" % number)) for number in range(count)]
    if receipt is not None:
        made[index] = leaf(sha256(receipt.encode()))
    return made


def proof(receipt, index, count, **of):
    leaves = entries(count, receipt, index)
    path = of.pop("path", lambda hashes: hashes)(inclusion(index, leaves))
    head = of.pop("head", f"index {index}")
    lines = [of.pop("version", "c2sp.org/tlog-proof@v1"), *of.pop("extra", []), head]
    lines += [one if isinstance(one, str) else b64(one) for one in path]
    return "\n".join(lines) + "\n\n" + checkpoint(leaves, **of)


def receipts():
    file = File(
        "receipts",
        [
            "valid: a verifier accepts receipt. It expects issuer, tenant_id and session_id",
            "where they are given. proof, where it is given, must show that the log has the",
            "receipt (c2sp.org/tlog-proof): the line c2sp.org/tlog-proof@v1; lines that begin",
            "with 'extra ', which are ignored; index and a number; the hashes of the path in",
            "base64, from the leaf up (RFC 9162, 2.1.3); an empty line; and a checkpoint,",
            "which logs.json describes. The entry is SHA-256(receipt), with 32 bytes, and its",
            "leaf is SHA-256(0x00, entry).",
        ],
    )
    file.content["shared"] = {"jwks": JWKS}
    given = lambda receipt, **more: {"receipt": receipt, **more}
    good = jws(claims())
    expected = {"issuer": ORIGIN, "tenant_id": TENANT, "session_id": SESSION}
    rule = "13: a valid receipt"
    for form in APPS:
        file.valid(rule, f"the format {form}", given(jws(claims(form)), **expected))
    file.valid(
        rule,
        "a completed session",
        given(
            jws(
                claims(
                    state="completed",
                    completed_at="2026-11-21T09:30:04.000Z",
                    outcome="accepted",
                )
            )
        ),
    )
    file.valid(rule, "no context", given(jws(claims(context=None))))
    older = claims()
    del older["device_ref"]
    file.valid(rule, "of a version without device_ref", given(jws(older)))
    file.valid(rule, "a claim that no version has yet", given(jws(claims(later={"a": [1]}))))
    file.valid(rule, "a key that is retired", given(jws(claims(), "retired service")))
    r, s = ecdsa_numbers(
        "phone",
        base64.urlsafe_b64decode(
            signed("software", claims()["phone"]["payload"])["authenticator_data"] + "=="
        )
        + sha256(claims()["phone"]["payload"].encode()),
    )
    made = signed("software", claims()["phone"]["payload"])
    file.valid(
        rule,
        "the other s of the phone's signature",
        given(jws(claims(made={**made, "signature": b64url(encode_dss_signature(r, N - s))}))),
    )

    head, body, signature = good.split(".")
    rule = "13: the service signed the receipt"
    file.invalid(rule, "the signature is changed", given(f"{head}.{body}.{flip(signature)}"))
    file.invalid(
        rule,
        "the claims are changed",
        given(f"{head}.{encode(claims(state='completed'))}.{signature}"),
    )
    file.invalid(rule, "a key that is not in the set", given(jws(claims(), "stranger")))
    file.invalid(
        rule,
        "another key with a kid of the set",
        given(jws(claims(), "stranger", kid=JWKS["keys"][0]["kid"])),
    )
    file.invalid(rule, "the kid of the other key", given(jws(claims(), kid=JWKS["keys"][1]["kid"])))
    file.invalid(rule, "no kid", given(jws(claims(), kid=None)))
    file.invalid(
        rule,
        "the algorithm none, without a signature",
        given(jws(claims(), alg="none").rpartition(".")[0] + "."),
    )
    file.invalid(rule, "the algorithm HS256", given(jws(claims(), alg="HS256")))
    file.invalid(rule, "another type", given(jws(claims(), typ="JWT")))
    file.invalid(rule, "a critical extension", given(jws(claims(), crit=["b64"], b64=True)))
    file.invalid(rule, "no type", given(jws(claims(), typ=None)))
    file.invalid(rule, "a fourth part", given(good + ".AA"))
    file.invalid(rule, "two parts", given(f"{head}.{body}"))
    file.invalid(rule, "claims that are no JSON", given(jws(b"{")))
    file.invalid(rule, "claims that are a list", given(jws([])))
    file.invalid(rule, "an empty set of keys", {**given(good), "jwks": {"keys": []}})
    rule = "13: base64url has one form only"
    file.invalid(rule, "a signature with padding", given(good + "=="))
    file.invalid(rule, "unused bits of the signature", given(f"{head}.{body}.{loose(signature)}"))
    for comment, name in (
        ("the phone's signature", "signature"),
        ("authenticator_data", "authenticator_data"),
        ("the public key", "public_key"),
    ):
        bad = claims()
        text = bad["phone"][name]
        bad["phone"][name] = loose(text) if len(text) % 4 else text + "===="
        file.invalid(rule, f"{comment} in another form", given(jws(bad)))
    rule = "13: the expected service, tenant and session"
    for name, value in (
        ("issuer", "https://bond.example.evil"),
        ("issuer", ORIGIN + "/"),
        ("tenant_id", TENANT[:-1] + "d"),
        ("session_id", SESSION[:-1] + "B"),
    ):
        file.invalid(rule, f"another {name}", given(good, **{name: value}))

    rule = "13: P equals the claims"
    others = {
        "session_id": SESSION[:-1] + "B",
        "tenant_id": TENANT[:-1] + "d",
        "workflow": "wire_transfer",
        "action": "view",
        "origin": "https://other.example",
    }
    for name, value in others.items():
        file.invalid(
            rule,
            f"another {name} in P",
            given(jws(claims(text=payload("bonded-assertion/v1", {**ASSERTION, name: value})))),
        )
    file.invalid(
        rule,
        "no workflow in P",
        given(jws(claims(text=payload("bonded-assertion/v1", {**ASSERTION, "workflow": None})))),
    )
    text = payload("bonded-assertion/v1", ASSERTION)
    file.invalid(
        rule,
        "another typ of P",
        given(jws(claims(text=text.replace("bonded-assertion/v1", "bonded-assertion/v2")))),
    )
    file.invalid(rule, "P is no JSON", given(jws(claims(text="P"))))
    spaced = text.replace('":', '": ', 1)
    file.invalid(rule, "P with white space", given(jws(claims(text=spaced))))
    twice = text.replace("{", '{"action":"view",', 1)
    file.invalid(rule, "P with two actions", given(jws(claims(text=twice))))
    more = payload("bonded-assertion/v1", {**ASSERTION, "browser_key": {"challenge": "c"}})
    file.valid(rule, "P with a browser key", given(jws(claims(text=more))))
    file.invalid(
        rule, "another format than the device's", given(jws(claims(device_format="android-key")))
    )
    rule = "13: the context equals its hash in P"
    changed = copy.deepcopy(CONTEXT)
    changed["display"][0]["value"] = "€12,501"
    without = {name: value for name, value in CONTEXT.items() if name != "requester"}
    for comment, context in (
        ("another amount", changed),
        ("no requester", without),
        ("no context", None),
        ("the pairs in another order", {**CONTEXT, "display": CONTEXT["display"][::-1]}),
    ):
        file.invalid(rule, comment, given(jws({**claims(), "context": context})))
    file.invalid(
        rule, "a context, and null in P", given(jws({**claims(context=None), "context": CONTEXT}))
    )

    file.invalid(
        "16: the receipt of one session proves no quorum",
        "one of two approvals",
        given(
            jws(
                claims(
                    context={
                        **CONTEXT,
                        "quorum": {"id": "quo_" + SESSION[5:], "needed": 2, "of": 3},
                    }
                )
            )
        ),
    )

    for form in APPS:
        rule = f"13: the phone's signature, by the format {form}"
        text = payload("bonded-assertion/v1", ASSERTION)
        good_phone = signed(form, text)
        file.invalid(
            rule, "of another key", given(jws(claims(form, made=signed(form, text, key="other"))))
        )
        file.invalid(
            rule,
            "changed",
            given(
                jws(
                    claims(
                        form, made={**good_phone, "signature": flip(good_phone["signature"], 20)}
                    )
                )
            ),
        )
        file.invalid(
            rule,
            "over another counter",
            given(
                jws(
                    claims(
                        form,
                        made={
                            **good_phone,
                            "authenticator_data": signed(form, text, 3)["authenticator_data"],
                        },
                    )
                )
            ),
        )
        if form != "webauthn":
            file.invalid(
                rule,
                "hashed once or twice too often",
                given(jws(claims(form, made=signed(form, text, twice=form != "apple-app-attest")))),
            )
            file.invalid(
                rule,
                "of another time in P",
                given(
                    jws(claims(form, made=good_phone, text=text.replace("09:30:03Z", "09:30:04Z")))
                ),
            )
    text = payload("bonded-assertion/v1", ASSERTION)
    rule = "13: the phone's signature, by the format webauthn"
    for comment, change in (
        ("the challenge of another payload", {"challenge": sha("other")}),
        ("another type", {"type": "webauthn.create"}),
        ("no challenge", {"challenge": None}),
        ("the page of another origin", {"origin": "https://other.example"}),
        ("no origin", {"origin": None}),
        ("a frame of another origin", {"crossOrigin": True}),
        ("a frame, and its page", {"crossOrigin": True, "topOrigin": "https://other.example"}),
        ("the page of a frame", {"topOrigin": "https://other.example"}),
    ):
        file.invalid(
            rule,
            comment,
            given(
                jws(
                    claims(
                        "webauthn",
                        made=signed("webauthn", text, client=client_data(text, **change)),
                    )
                )
            ),
        )
    plain = signed("webauthn", text, client=client_data(text, crossOrigin=None))
    file.valid(rule, "no crossOrigin", given(jws(claims("webauthn", made=plain))))
    for comment, flags in (("is not present", 4), ("is not verified", 1)):
        made = signed("webauthn", text, flags=flags)
        file.invalid(rule, f"a user who {comment}", given(jws(claims("webauthn", made=made))))
    good_phone = signed("webauthn", text)
    file.invalid(
        rule,
        "no client data",
        given(
            jws(
                claims(
                    "webauthn",
                    made={
                        name: value
                        for name, value in good_phone.items()
                        if name != "client_data_json"
                    },
                )
            )
        ),
    )
    file.invalid(
        rule,
        "other client data than the signed",
        given(
            jws(
                claims(
                    "webauthn",
                    made={**good_phone, "client_data_json": b64url(client_data(text) + b" ")},
                )
            )
        ),
    )
    rule = "13: the phone's key and its signature are well formed"
    base = signed("software", text)
    over = base64.urlsafe_b64decode(base["authenticator_data"] + "==") + sha256(text.encode())
    r, s = ecdsa_numbers("phone", over)
    for comment, form in (
        ("r and s without DER", r.to_bytes(32, "big") + s.to_bytes(32, "big")),
        ("s is 0", encode_dss_signature(r, 0)),
        ("r is 0", encode_dss_signature(0, s)),
        ("r and s are 0", encode_dss_signature(0, 0)),
        ("s is not below the order", encode_dss_signature(r, s + N)),
        *near_der(r, s).items(),
    ):
        file.invalid(rule, comment, given(jws(claims(made={**base, "signature": b64url(form)}))))
    for comment, key in (
        ("a key on another curve", spki("phone", ec.SECP384R1)),
        ("a point that is not on the curve", spki("phone")[:-1] + bytes([spki("phone")[-1] ^ 1])),
        ("no key", b"\0"),
    ):
        bad = claims()
        bad["phone"]["public_key"] = b64url(key)
        file.invalid(rule, comment, given(jws(bad)))

    rule = "13: the log has the receipt"
    for index, count in ((0, 1), (0, 2), (1, 2), (2, 3), (3, 7), (6, 7), (0, 8), (5, 8)):
        file.valid(rule, f"entry {index} of {count}", given(good, proof=proof(good, index, count)))
    file.valid(
        rule,
        "a log that continues a closed one",
        given(good, proof=proof(good, 3, 7, origin=EPOCH)),
    )
    file.valid(
        rule, "a key that is retired", given(good, proof=proof(good, 3, 7, key="retired service"))
    )
    file.valid(
        rule,
        "signatures of others",
        given(good, proof=proof(good, 3, 7, more="— witness.example AAAAAAAA\n")),
    )
    file.valid(rule, "an extra line", given(good, proof=proof(good, 3, 7, extra=["extra AAAA"])))
    other = jws(claims(jti="another"))
    b_proof = {
        "of another receipt": proof(other, 3, 7),
        "another index": proof(good, 3, 7, head="index 4"),
        "an index beyond the size": proof(good, 3, 7, head="index 11"),
        "an index with a zero": proof(good, 3, 7, head="index 03"),
        "a negative index": proof(good, 3, 7, head="index -3"),
        "no index": proof(good, 3, 7, head=""),
        "a hash too few": proof(good, 3, 7, path=lambda path: path[:-1]),
        "a hash too many": proof(good, 3, 7, path=lambda path: path + path[:1]),
        "hashes in another order": proof(good, 3, 7, path=lambda path: path[::-1]),
        "no hashes": proof(good, 3, 7, path=lambda path: []),
        "a hash of 31 bytes": proof(good, 3, 7, path=lambda path: [path[0][:31], *path[1:]]),
        "a hash in base64url": proof(good, 3, 7, path=lambda path: [b64url(path[0]), *path[1:]]),
        "a checkpoint with another size": proof(good, 3, 7, size=4),
        "a checkpoint with another root": proof(good, 3, 7, hash=sha256(b"other")),
        "a checkpoint of another log": proof(good, 3, 7, origin="other.example/receipts/log"),
        "a path behind the name of the log": proof(good, 3, 7, origin=LOG + "/short"),
        "a checkpoint that a stranger signed": proof(good, 3, 7, key="stranger"),
        "a checkpoint that was signed under another name": proof(good, 3, 7, name="other.example"),
        "a checkpoint that is changed": proof(good, 3, 7).replace("\n7\n", "\n8\n"),
        "a checkpoint without a signature": proof(good, 3, 7).rpartition("\n\n")[0] + "\n\n",
        "another version": proof(good, 3, 7, version="c2sp.org/tlog-proof@v2"),
        "no checkpoint": proof(good, 3, 7).partition("\n\n")[0] + "\n",
        "nothing": "x",
    }
    for comment, text in b_proof.items():
        file.invalid(rule, comment, given(good, proof=text))
    file.invalid(
        rule,
        "the hash of the entry in place of the leaf's",
        given(
            good,
            proof="\n".join(
                ["c2sp.org/tlog-proof@v1", "index 0", "", checkpoint([sha256(good.encode())])]
            ),
        ),
    )
    file.write()


def logs():
    file = File(
        "logs",
        [
            "valid: the log of newer begins with all entries of older. A checkpoint is a note",
            "(c2sp.org/signed-note). Its text is lines, each with a line feed: the name of",
            "the log, the size, and the root in base64. After an empty line come lines with a",
            "dash, a name, and base64 of a key id and a signature; unknown ones are ignored.",
            "The key id is the first 4 bytes of SHA-256(name, line feed, 0x01, public key).",
            "The signature is Ed25519 over the text. proof has a hash in base64 on each line",
            "(RFC 9162, 2.1.4).",
        ],
    )
    leaves = entries(8)
    file.content["shared"] = {"jwks": JWKS}

    def given(old, new, hashes=None, **more):
        path = consistency(old, leaves[:new]) if hashes is None else hashes
        return {
            "older": checkpoint(leaves[:old]),
            "newer": checkpoint(leaves[:new]),
            "proof": "".join(b64(one) + "\n" for one in path),
            **more,
        }

    rule = "13: the log only grew (RFC 9162, 2.1.4)"
    for old, new in (
        (1, 1),
        (1, 2),
        (2, 3),
        (3, 4),
        (3, 7),
        (4, 7),
        (4, 8),
        (6, 8),
        (7, 8),
        (8, 8),
    ):
        file.valid(rule, f"from {old} to {new}", given(old, new))
    file.valid(rule, "from nothing", given(0, 3, []))
    file.invalid(
        rule,
        "from nothing, with a root of something",
        given(0, 3, [], older=checkpoint([], hash=sha256(b"other"))),
    )
    path = consistency(3, leaves[:7])
    for comment, hashes in (
        ("a hash too few", path[:-1]),
        ("a hash too many", path + path[:1]),
        ("another order", path[::-1]),
        ("no hashes", []),
    ):
        file.invalid(rule, comment, given(3, 7, hashes))
    file.invalid(rule, "hashes between equal sizes", given(3, 3, path[:1]))
    file.invalid(rule, "hashes from nothing", given(0, 3, path[:1]))
    file.invalid(
        rule,
        "from 7 to 3",
        {**given(3, 7), "older": checkpoint(leaves[:7]), "newer": checkpoint(leaves[:3])},
    )
    file.invalid(rule, "equal sizes, other roots", given(3, 3, newer=checkpoint(leaves[1:4])))
    rewritten = [leaf(b"other"), *leaves[1:]]
    file.invalid(
        rule,
        "an entry was edited",
        given(3, 7, consistency(3, rewritten[:7]), newer=checkpoint(rewritten[:7])),
    )
    dropped = leaves[1:]
    file.invalid(
        rule,
        "an entry was dropped",
        given(3, 7, consistency(3, dropped[:7]), newer=checkpoint(dropped[:7])),
    )
    file.invalid(rule, "no base64", given(3, 7, proof="!\n"))
    rule = "13: a key of the service signed both checkpoints"
    file.valid(
        rule,
        "a key that is retired",
        given(3, 7, older=checkpoint(leaves[:3], key="retired service")),
    )
    file.invalid(
        rule,
        "a stranger signed the older",
        given(3, 7, older=checkpoint(leaves[:3], key="stranger")),
    )
    file.invalid(
        rule,
        "a stranger signed the newer",
        given(3, 7, newer=checkpoint(leaves[:7], key="stranger")),
    )
    file.invalid(
        rule,
        "the size is changed",
        given(3, 7, newer=checkpoint(leaves[:7]).replace("\n7\n", "\n8\n")),
    )
    rule = "13: the checkpoints are of one log"
    file.invalid(
        rule,
        "another service",
        given(3, 7, newer=checkpoint(leaves[:7], "other.example/receipts/log")),
    )
    file.invalid(
        rule,
        "a log that continues the older, without its statement",
        given(3, 7, newer=checkpoint(leaves[:7], EPOCH)),
    )

    file.write()
    closed_logs(given, leaves)


def closed_logs(given, leaves):
    file = File(
        "closed-logs",
        [
            "As logs.json, with closed: the response of /receipts/log/closed. A statement is a",
            "note that the log which continues the closed one has signed.",
        ],
    )
    file.content["shared"] = {"jwks": JWKS}

    def closed(size=4, key="service", new=EPOCH, old=LOG):
        lines = [
            new,
            f"closes {old}",
            str(size),
            b64(root(leaves[:size])),
            "2026-11-22T00:00:00.000Z",
            "restore",
        ]
        return json.dumps({"closed": [{"statement": note(lines, key)}]})

    rule = "13: a statement leads from a closed log to the one that continues it"
    newer = checkpoint(leaves[:7], EPOCH)
    file.valid(rule, "all entries of the older remain", given(3, 7, newer=newer, closed=closed()))
    file.valid(rule, "exactly these entries remain", given(4, 7, newer=newer, closed=closed()))
    file.invalid(
        rule, "the older has entries that were lost", given(5, 7, newer=newer, closed=closed())
    )
    file.invalid(
        rule,
        "a stranger signed the statement",
        given(3, 7, newer=newer, closed=closed(key="stranger")),
    )
    file.invalid(
        rule,
        "a statement of another log",
        given(3, 7, newer=newer, closed=closed(old="other.example/receipts/log")),
    )
    file.invalid(
        rule,
        "a statement that leads elsewhere",
        given(3, 7, newer=newer, closed=closed(new=LOG + "/y0W3AbCdEfGhIjKlMnOpQr")),
    )
    file.invalid(
        rule,
        "from the newer to the closed log",
        given(3, 7, older=checkpoint(leaves[:3], EPOCH), closed=closed()),
    )
    file.write()


def witnesses():
    file = File(
        "witnesses",
        [
            "valid: at least required of the witnesses have cosigned checkpoint",
            "(c2sp.org/tlog-cosignature). A witness is name, +, its key id in hex, +, base64",
            "of 0x04 and its Ed25519 key. The key id is the first 4 bytes of SHA-256(name,",
            "line feed, 0x04, public key). Its line of the checkpoint has base64 of the key",
            "id, the time as 8 bytes, and an Ed25519 signature over 'cosignature/v1', a line",
            "feed, 'time ' and the time, a line feed, and the text of the checkpoint.",
        ],
    )

    def key(name, kind=4):
        typed = bytes([kind]) + ed_public(name)
        return f"{name}+{sha256(f'{name}'.encode(), bytes([10]), typed)[:4].hex()}+{b64(typed)}"

    def cosigned(name, at=1795253410, kind=4, signer=None, **change):
        identity = sha256(f"{name}\n".encode(), bytes([kind]), ed_public(name))[:4]
        message = (
            f"cosignature/v1\ntime {change.get('time', at)}\n{change.get('text', text)}".encode()
        )
        return f"— {name} {b64(identity + at.to_bytes(8, 'big') + ed_key(signer or name).sign(message))}\n"

    plain = checkpoint(entries(7))
    text = plain.partition("\n\n")[0] + "\n"
    rule = "receipts.md: enough witnesses have cosigned the checkpoint"
    names = ["w1.example", "w2.example", "w3.example"]
    given = lambda more, required=2: {
        "checkpoint": plain + more,
        "witnesses": [key(name) for name in names],
        "required": required,
    }
    one, two, three = [cosigned(name) for name in names]
    file.valid(rule, "two of two", given(one + two))
    file.valid(rule, "three of two", given(three + one + two))
    file.valid(
        rule,
        "one of one, beside a line that is not known",
        given("— other.example AAAA\n" + two, 1),
    )
    file.invalid(rule, "one of two", given(one))
    file.invalid(rule, "none", given(""))
    file.invalid(rule, "one of them twice", given(one + one))
    file.invalid(rule, "one of them at two times", given(one + cosigned("w1.example", 1795253500)))
    file.invalid(rule, "one that is not asked for", given(one + cosigned("w4.example")))
    file.invalid(
        rule,
        "of another checkpoint",
        given(one + cosigned("w2.example", text=text.replace("\n7\n", "\n8\n"))),
    )
    file.invalid(
        rule, "another time than the signed", given(one + cosigned("w2.example", time=1795253411))
    )
    file.invalid(
        rule, "another key signed", given(one + cosigned("w2.example", signer="w1.example"))
    )
    file.invalid(
        rule, "the name of another witness", given(one + one.replace("w1.example", "w2.example"))
    )
    file.write()


def webhooks():
    file = File(
        "webhooks",
        [
            "valid: one of secrets verifies headers and the bytes of body in UTF-8 (Standard",
            "Webhooks). now is the time in seconds; every timestamp is within five minutes of",
            "it.",
        ],
    )
    body = json.dumps(
        {
            "type": "session.bonded",
            "id": "evt_7Ud2kQ9mZrB4xVnT1cLe0A",
            "sequence": 4,
            "data": {"größe": "€"},
        },
        ensure_ascii=False,
    )
    identity, at = "evt_7Ud2kQ9mZrB4xVnT1cLe0A", "1795253410"
    secret, other = "whsec_" + b64(sha256(b"secret")), "whsec_" + b64(sha256(b"other"))
    public = "whpk_" + b64(ed_public("webhook"))

    def v1(key, of=None):
        return "v1," + b64(
            mac(base64.b64decode(key[6:]), (of or f"{identity}.{at}.{body}").encode())
        )

    def v1a(name, of=None):
        return "v1a," + b64(ed_key(name).sign((of or f"{identity}.{at}.{body}").encode()))

    def given(signature, secrets, **change):
        headers = {
            "webhook-id": identity,
            "webhook-timestamp": at,
            "webhook-signature": signature,
            **change.get("headers", {}),
        }
        return {
            "headers": headers,
            "body": change.get("body", body),
            "secrets": secrets,
            "now": 1795253415,
        }

    for scheme, sign, key, wrong, mine, theirs in (
        ("v1", v1, secret, other, secret, other),
        ("v1a", v1a, public, "whpk_" + b64(ed_public("other")), "webhook", "other"),
    ):
        rule = f"13: the signature of a webhook, {scheme}"
        file.valid(rule, "signed", given(sign(mine), [key]))
        file.valid(
            rule, "the second of two signatures", given(f"{sign(theirs)} {sign(mine)}", [key])
        )
        file.valid(rule, "beside a scheme that is not known", given(f"v2,AAAA {sign(mine)}", [key]))
        file.valid(rule, "the former secret, while it is replaced", given(sign(mine), [wrong, key]))
        file.invalid(rule, "another secret", given(sign(theirs), [key]))
        file.invalid(rule, "another body", given(sign(mine), [key], body=body + " "))
        file.invalid(
            rule,
            "another id",
            given(sign(mine), [key], headers={"webhook-id": identity[:-1] + "B"}),
        )
        file.invalid(
            rule,
            "another time",
            given(sign(mine), [key], headers={"webhook-timestamp": "1795253411"}),
        )
        file.invalid(rule, "the body alone", given(sign(mine, body), [key]))
        file.invalid(
            rule,
            "the name of the other scheme",
            given(sign(mine).replace(scheme + ",", "v1," if scheme == "v1a" else "v1a,"), [key]),
        )
        file.invalid(rule, "no signature", given("", [key]))
    file.write()


if __name__ == "__main__":
    receipts()
    logs()
    witnesses()
    webhooks()
