"""encodings.json, payloads.json, and assertions.json: what a phone writes and signs."""
from common import *

RULE = {
    "b64": "1: base64url without padding, in its only form",
    "json": "1: what a strict reader of JSON rejects",
    "jcs": "1: JCS of RFC 8785",
    "qr": "4: the content of a QR code",
}
NONCE, NONCE2 = sha("nonce"), sha("second nonce")


def encodings():
    file = File(
        "encodings",
        [
            "valid: text is what kind names. base64url: a value of it. json: what a strict",
            "reader accepts. jcs: canonical is JCS of the value of text. qr: what a QR code",
            "of a service contains.",
        ],
    )
    for text in ("", "AA", "AAA", "AAAA", "_-8", "AQ"):
        file.valid(RULE["b64"], "as an encoder writes it", {"kind": "base64url", "text": text})
    for text, why in (
        ("AA==", "padding"),
        ("AB", "unused bits"),
        ("AAB", "unused bits"),
        ("+/8", "other alphabet"),
        ("A", "one character"),
        ("AA\n", "a line feed"),
        ("A A", "a space"),
    ):
        file.invalid(RULE["b64"], why, {"kind": "base64url", "text": text})
    for text in ('{"a":1,"b":{"a":2}}', "[" * 16 + "]" * 16, '"\\ud83d\\ude00"', " [ 1 ]\n"):
        file.valid(RULE["json"], "accepted", {"kind": "json", "text": text})
    for text, why in (
        ('{"a":1,"a":1}', "a duplicate member"),
        ('{"a":1,"\\u0061":2}', "a duplicate member, escaped"),
        ("[" * 17 + "]" * 17, "17 levels"),
        ('{"a":"\\ud83d"}', "an unpaired surrogate"),
        ('{"a":"\\u0000"}', "U+0000"),
        ('{"\\ude00":1}', "an unpaired surrogate in a name"),
        ("{'a':1}", "no JSON"),
        ('{"a":1,}', "no JSON"),
        ("", "no JSON"),
        ("[NaN]", "no JSON"),
    ):
        file.invalid(RULE["json"], why, {"kind": "json", "text": text})
    # RFC 8785, 3.2.2 and 3.2.3, and appendix B
    for text, canonical, why in (
        ('{"b":1.0,"a":true, "c":null}', '{"a":true,"b":1,"c":null}', "order, and no white space"),
        (
            "[0.0000001,1e21,0.000001,1E+2,-0,5e-324,333333333.33333329]",
            "[1e-7,1e+21,0.000001,100,0,5e-324,333333333.3333333]",
            "numbers as ECMAScript writes them",
        ),
        (
            '["\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/\\u2028\\u007f"]',
            '["€$\\u000f\\nA\'B\\"\\\\\\\\\\"/\u2028\x7f"]',
            "only the required escapes",
        ),
        (
            '{"\\ufb33":1,"\\ud83d\\ude00":2,"\\u00f6":3,"1":4,"\\r":5,"\\u20ac":6,"\\u0080":7}',
            '{"\\r":5,"1":4,"\x80":7,"ö":3,"€":6,"😀":2,"\ufb33":1}',
            "members by UTF-16 code units",
        ),
        ('{"a":{"b":[{"d":1,"c":2}]}}', '{"a":{"b":[{"c":2,"d":1}]}}', "members of every level"),
        ('["e\\u0301"]', '["e\u0301"]', "no normalization"),
    ):
        file.valid(RULE["jcs"], why, {"kind": "jcs", "text": text, "canonical": canonical})
    for text, canonical, why in (
        ('{"\\ufb33":1,"\\ud83d\\ude00":2}', '{"\ufb33":1,"😀":2}', "members by code points"),
        ("[1.0]", "[1.0]", "a number as it was sent"),
        ('["\\u20ac"]', '["\\u20ac"]', "an escape that is not required"),
        ('["\\/"]', '["\\/"]', "an escape that is not required"),
        ('{"a":1}', '{"a": 1}', "white space"),
        ("[1e-7]", "[1e-07]", "an exponent with a zero"),
        ('["e\\u0301"]', '["é"]', "normalized"),
    ):
        file.invalid(RULE["jcs"], why, {"kind": "jcs", "text": text, "canonical": canonical})
    tail = f"bond?session_id={SESSION}&nonce={NONCE}"
    for text in (
        f"pulse://{tail}",
        f"https://bond.example/{tail}",
        f"my-bank+2://{tail}",
        f"http://localhost:8787/{tail}",
    ):
        file.valid(RULE["qr"], "a QR code", {"kind": "qr", "text": text})
    for text, why in (
        (f"pulse://{tail}&a=1", "a third parameter"),
        (f"https://bond.example/x/{tail}", "another path"),
        (f"pulse://bond?nonce={NONCE}&session_id={SESSION}", "another order"),
        (f"pulse://{tail}#a", "a fragment"),
        (f"https://a@bond.example/{tail}", "userinfo"),
        (f"pulse://{tail[:-1]}", "a nonce of 42 characters"),
        (f"pulse://{tail.replace('sess_', 'dev_')}", "another id"),
        (f"https://bond.example/{tail.replace('bond?', 'bond/?')}", "another path"),
        ("", "no text"),
    ):
        file.invalid(RULE["qr"], why, {"kind": "qr", "text": text})
    file.write()


CONTEXT = {
    "display": [{"label": "Amount", "value": "€12,500"}, {"label": "Größe", "value": "“x” \\ / 😀"}],
    "digest": sha("the form as it was sent"),
    "requester": {"kind": "agent", "name": "Invoice agent"},
    "text": '{\n  "größe": "12,500 €"\n}',
}
EVIDENCE = {
    "kid": "k7",
    "issued_at": "2026-11-21T09:30:02.120Z",
    "expires_at": "2026-11-21T09:35:00.000Z",
    "local_auth": {
        "result": "verified",
        "method": "biometric",
        "verified_at": "2026-11-21T09:30:01.000Z",
    },
    "sensor_continuity": {
        "motion_present": True,
        "continuity_score": 0.25,
        "window_ms": 2000,
        "samples": 1,
        "model": "m",
    },
    "a member of later": [1e-07, 1e21, None],
    "\ufb33": 1,
    "😀": 2,
    "signature": sha("mac"),
}
SIGNALS = {
    "sensor_continuity": {
        "window_ms": 2000,
        "features": [{"t_ms": 0, "acc_var": 0.25, "gyro_var": 1e-07, "handling": 1.0}],
    },
    "local_auth": {
        "result": "verified",
        "method": "biometric",
        "verified_at": "2026-11-21T09:30:01.000Z",
    },
}
REGISTRATION = {
    "format": "software",
    "challenge": sha("challenge"),
    "public_key": b64url(spki("new phone")),
}
BROWSER_KEY = {
    "challenge": sha("challenge"),
    "registration": {"id": "AQ", "type": "public-key", "response": {"attestationObject": "oA"}},
}
ABOUT = {
    "device_id": DEVICE,
    "subject_id": SUBJECT,
    "issued_at": "2026-11-21T09:31:00.000Z",
    "origin": ORIGIN,
}
ASSERTION = {
    "session_id": SESSION,
    "nonce": NONCE,
    "device_id": DEVICE,
    "subject_id": SUBJECT,
    "issued_at": "2026-11-21T09:30:03Z",
    "tenant_id": TENANT,
    "workflow": "credit_application",
    "action": "submit_application",
    "origin": ORIGIN,
    "context": CONTEXT,
    "verified_evidence": EVIDENCE,
}
#: typ: section, members as sent, and the name of those that are signed as a hash
PAYLOADS = {
    "bonded-assertion/v1": (
        5,
        ASSERTION,
        {"context": "context", "verified_evidence": "evidence", "browser_key": "browser_key"},
    ),
    "bonded-evidence-request/v1": (
        7,
        {
            "session_id": SESSION,
            "nonce": NONCE,
            "device_id": DEVICE,
            "subject_id": SUBJECT,
            "issued_at": "2026-11-21T09:30:02.5+00:00",
            "signals": SIGNALS,
        },
        {"signals": "signals"},
    ),
    "bonded-device-token/v1": (6, ABOUT, {}),
    "bonded-device-add/v1": (
        6,
        {
            **ABOUT,
            "challenge": REGISTRATION["challenge"],
            "format": "software",
            "registration": REGISTRATION,
        },
        {"registration": "registration"},
    ),
    "bonded-device-remove/v1": (
        6,
        {**ABOUT, "removed_device_id": "dev_5Rk8ZtWq2NcYb7HxMv4JdL"},
        {},
    ),
    "bonded-device-recovery/v1": (6, {"challenge": sha("challenge"), "origin": ORIGIN}, {}),
    "bonded-browser/v1": (
        14,
        {
            "session_id": SESSION,
            "tenant_id": TENANT,
            "workflow": "credit_application",
            "action": "submit_application",
            "origin": "https://www.bank.example",
            "commitment": sha("secret"),
        },
        {},
    ),
    "bonded-browser-credential/v1": (14, {"session_id": SESSION, "credential_id": "AQIDBA"}, {}),
    "bonded-inbox/v1": (15, ABOUT, {}),
    "bonded-inbox-resume/v1": (15, {**ABOUT, "tenant_id": TENANT}, {}),
    "bonded-device-push/v1": (
        15,
        {**ABOUT, "endpoint": "https://fcm.googleapis.com/fcm/send/example"},
        {},
    ),
}


def payload(typ, members):
    hashed = PAYLOADS[typ][2]
    return jcs(
        {
            "typ": typ,
            **{
                hashed.get(name, name): sha(value)
                if name in hashed and value is not None
                else value
                for name, value in members.items()
            },
        }
    )


def payloads():
    file = File(
        "payloads",
        [
            "valid: text is the payload typ of the members. Members that are signed as a hash",
            "are given as they are: context, verified_evidence, signals, registration,",
            "browser_key. verified_evidence becomes the member evidence.",
        ],
    )
    for typ, (section, members, hashed) in PAYLOADS.items():
        rule = f"{section}: the payload {typ}"
        text = payload(typ, members)
        file.valid(rule, "the payload", {"typ": typ, "members": members, "text": text})
        file.invalid(
            rule,
            "another typ",
            {"typ": typ, "members": members, "text": text.replace(typ, typ[:-1] + "2")},
        )
        file.invalid(
            rule,
            "white space",
            {"typ": typ, "members": members, "text": text.replace('":', '": ', 1)},
        )
        file.invalid(
            rule, "a further member", {"typ": typ, "members": members, "text": '{"a":1,' + text[1:]}
        )
        for name, value in members.items():
            other = dict(members)
            del other[name]
            file.invalid(
                rule,
                f"without {name}",
                {"typ": typ, "members": members, "text": payload(typ, other)},
            )
            if name in hashed:
                other = dict(members, **{name: None})
                file.invalid(
                    rule,
                    f"{name} as null",
                    {"typ": typ, "members": members, "text": payload(typ, other)},
                )
                verbatim = jcs({**json.loads(text), hashed[name]: value})
                file.invalid(
                    rule,
                    f"{name} without its hash",
                    {"typ": typ, "members": members, "text": verbatim},
                )

    def more(section, typ, comment, change, text=None):
        members = {**PAYLOADS[typ][1], **change}
        add = file.valid if text is None else file.invalid
        add(
            f"{section}: the payload {typ}",
            comment,
            {"typ": typ, "members": members, "text": text or payload(typ, members)},
        )

    more(5, "bonded-assertion/v1", "no context", {"context": None})
    more(5, "bonded-assertion/v1", "no workflow and no action", {"workflow": None, "action": None})
    more(5, "bonded-assertion/v1", "with a browser key", {"browser_key": BROWSER_KEY})
    more(6, "bonded-device-remove/v1", "of a browser key", {"purpose": "browser"})
    more(15, "bonded-device-push/v1", "no endpoint", {"endpoint": None})
    typ = "bonded-assertion/v1"
    for comment, name in (
        ("without the signature of the evidence", "signature"),
        ("without a member that the phone does not know", "😀"),
    ):
        fewer = {key: value for key, value in EVIDENCE.items() if key != name}
        more(5, typ, comment, {}, payload(typ, {**ASSERTION, "verified_evidence": fewer}))
    more(
        5,
        typ,
        "the pairs in another order",
        {},
        payload(typ, {**ASSERTION, "context": {**CONTEXT, "display": CONTEXT["display"][::-1]}}),
    )
    more(
        5,
        typ,
        "the display alone",
        {},
        payload(typ, {**ASSERTION, "context": {"display": CONTEXT["display"]}}),
    )
    more(
        5,
        typ,
        "the time in another form",
        {},
        payload(typ, {**ASSERTION, "issued_at": "2026-11-21T09:30:03.000Z"}),
    )
    file.write()


def client_data(text, **change):
    members = {
        "type": "webauthn.get",
        "challenge": sha(text),
        "origin": ORIGIN,
        "crossOrigin": False,
        **change,
    }
    return json.dumps(
        {name: value for name, value in members.items() if value is not None}, separators=(",", ":")
    ).encode()


def signed(form, text, counter=2, key="phone", **change):
    """The members of app_attest, and what a test changes before the signature."""
    data = (
        sha256(change.get("app", APPS[form]).encode())
        + bytes([change.get("flags", 5)])
        + counter.to_bytes(4, "big")
        + change.get("more", b"")
    )
    client = change.get("client", client_data(text)) if form == "webauthn" else None
    digest = sha256(client if client is not None else text.encode())
    message = data + digest
    message = sha256(message) if change.get("twice", form == "apple-app-attest") else message
    made = {
        "client_data_hash": b64url(digest),
        "authenticator_data": b64url(data),
        "signature": b64url(ecdsa(key, message)),
    }
    return made if client is None else {**made, "client_data_json": b64url(client)}


def der(*numbers):
    """A sequence of integers whose bytes are given, in DER or not."""
    parts = b"".join(b"\2" + bytes([len(part)]) + part for part in numbers)
    return b"\x30" + bytes([len(parts)]) + parts


def near_der(r, s):
    """Forms of a valid signature that are not DER. Of s and the order less s, one is small."""
    small, large = (min(s, N - s).to_bytes(32, "big"), max(s, N - s).to_bytes(32, "big"))
    first = r.to_bytes(r.bit_length() // 8 + 1, "big")
    return {
        "an integer with a needless zero": der(first, b"\0" + small),
        "an integer that is negative": der(first, large),
        "a byte behind the sequence": der(first, small) + b"\0",
        "a length in its long form": b"\x30\x81" + der(first, small)[1:],
    }


def assertions():
    file = File(
        "assertions",
        [
            "valid: app_attest is an assertion over payload by the registered key.",
            "public_key, key_id and app_id are the key's; origin is the service's.",
            "last_counter is the counter of the assertion before. backup_eligible is a flag",
            "of a webauthn registration.",
        ],
    )
    text = payload("bonded-assertion/v1", ASSERTION)
    key_id = b64url(sha256(spki("phone")))

    def given(form, made, **change):
        return {
            "format": form,
            "public_key": b64url(spki("phone")),
            "key_id": key_id,
            "app_id": APPS[form],
            "origin": ORIGIN,
            "last_counter": 1,
            "backup_eligible": False,
            "payload": text,
            "app_attest": {"key_id": key_id, **made, **change},
        }

    for form in APPS:
        rule = f"5: the assertion of the format {form}"
        good = signed(form, text)
        file.valid(rule, "a valid assertion", given(form, good))
        file.valid(rule, "the last counter", given(form, signed(form, text, counter=2**32 - 1)))
        file.invalid(
            f"{rule}: the counter",
            "the counter of the last one",
            given(form, signed(form, text, counter=1)),
        )
        file.invalid(
            f"{rule}: the counter",
            "a counter before the last one",
            given(form, signed(form, text, counter=0)),
        )
        file.invalid(
            f"{rule}: the signature", "of another key", given(form, signed(form, text, key="other"))
        )
        file.invalid(
            f"{rule}: the signature",
            "changed",
            given(form, good, signature=flip(good["signature"], 20)),
        )
        file.invalid(
            f"{rule}: the signature",
            "over another counter",
            given(form, good, authenticator_data=signed(form, text, 3)["authenticator_data"]),
        )
        file.invalid(
            f"{rule}: client_data_hash", "of another payload", given(form, signed(form, text + " "))
        )
        file.invalid(
            f"{rule}: client_data_hash",
            "changed",
            given(form, good, client_data_hash=flip(good["client_data_hash"])),
        )
        file.invalid(
            f"{rule}: the app id", "of another app", given(form, signed(form, text, app="other"))
        )
        file.invalid(f"{rule}: key_id", "of another key", given(form, good, key_id=sha("other")))
        file.invalid(
            f"{rule}: the encoding",
            "authenticator_data is empty",
            given(form, good, authenticator_data=""),
        )
        file.invalid(
            f"{rule}: the encoding",
            "authenticator_data has 36 bytes",
            given(form, good, authenticator_data=good["authenticator_data"][:48]),
        )
        file.invalid(
            f"{rule}: the encoding",
            "unused bits of the signature's text",
            given(
                form,
                {
                    **good,
                    "signature": good["signature"] + "=" * (-len(good["signature"]) % 4)
                    if len(good["signature"]) % 4
                    else good["signature"] + "====",
                },
            ),
        )
        raw = b"".join(part.to_bytes(32, "big") for part in ecdsa_numbers("phone", b"any"))
        file.invalid(
            f"{rule}: the signature is DER",
            "r and s without DER",
            given(form, good, signature=b64url(raw)),
        )
        if form != "webauthn":
            file.invalid(
                f"{rule}: no member of another format",
                "with client_data_json",
                given(form, good, client_data_json=b64url(client_data(text))),
            )
            file.invalid(
                f"{rule}: what is signed",
                "hashed once or twice too often",
                given(form, signed(form, text, twice=form != "apple-app-attest")),
            )
            file.valid(
                f"{rule}: the flags", "are not checked", given(form, signed(form, text, flags=0))
            )
        if form in ("software", "android-key"):
            file.invalid(
                f"{rule}: the encoding",
                "38 bytes of authenticator_data",
                given(form, signed(form, text, more=b"\0")),
            )
        message = signed(form, text)
        data = base64.urlsafe_b64decode(message["authenticator_data"] + "==")
        digest = base64.urlsafe_b64decode(message["client_data_hash"] + "==")
        over = sha256(data, digest) if form == "apple-app-attest" else data + digest
        r, s = ecdsa_numbers("phone", over)
        file.valid(
            f"{rule}: the signature",
            "with the other s, which is as valid",
            given(form, good, signature=b64url(encode_dss_signature(r, N - s))),
        )
        for comment, form_of in near_der(r, s).items():
            file.invalid(
                f"{rule}: the signature is DER",
                comment,
                given(form, good, signature=b64url(form_of)),
            )
    key_id_text = b64(sha256(spki("phone")))
    file.valid(
        "5: key_id of App Attest",
        "in standard base64",
        given("apple-app-attest", signed("apple-app-attest", text), key_id=key_id_text),
    )
    file.invalid(
        "5: key_id",
        "in standard base64, of another format",
        given("software", signed("software", text), key_id=key_id_text),
    )
    web = lambda **change: given("webauthn", signed("webauthn", text, **change))
    rule = "5: the client data of a webauthn key"
    for comment, change in (
        ("no crossOrigin", {"crossOrigin": None}),
        ("a member that is not known", {"later": {"a": [1]}}),
    ):
        file.valid(rule, comment, web(client=client_data(text, **change)))
    for comment, change in (
        ("another type", {"type": "webauthn.create"}),
        ("another challenge", {"challenge": sha("other")}),
        ("another origin", {"origin": "https://bond.example.evil"}),
        ("the origin with a slash", {"origin": ORIGIN + "/"}),
        ("a page in a frame", {"crossOrigin": True}),
        ("a top origin", {"topOrigin": "https://bank.example"}),
        ("no challenge", {"challenge": None}),
        ("no origin", {"origin": None}),
    ):
        file.invalid(rule, comment, web(client=client_data(text, **change)))
    file.invalid(rule, "not JSON", web(client=b"x"))
    good = signed("webauthn", text)
    file.invalid(
        rule,
        "absent",
        given(
            "webauthn", {name: value for name, value in good.items() if name != "client_data_json"}
        ),
    )
    file.invalid(
        "5: client_data_hash of a webauthn key",
        "of the payload",
        given("webauthn", good, client_data_hash=sha(text)),
    )
    rule = "5: the flags of a webauthn key"
    file.valid(rule, "a counter that is always 0", {**web(counter=0), "last_counter": 0})
    for comment, flags in (
        ("no user", 4),
        ("an unverified user", 1),
        ("backed up, but not eligible", 0x15),
        ("eligible, unlike the registration", 0x0D),
    ):
        file.invalid(rule, comment, web(flags=flags))
    file.valid(rule, "a synced key, as registered", {**web(flags=0x1D), "backup_eligible": True})
    file.invalid(rule, "not eligible, unlike the registration", {**web(), "backup_eligible": True})
    file.write()


if __name__ == "__main__":
    encodings()
    payloads()
    assertions()
