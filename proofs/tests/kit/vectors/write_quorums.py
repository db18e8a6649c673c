"""quorums.json: what a verifier checks of the receipts of several users (protocol 16)."""
from common import *
from write_assertions import ASSERTION, payload, signed
from write_receipts import EPOCH, JWKS, claims, jws, proof

DIGEST = sha("the wire as it is sent")
RULE = {"id": "quo_" + SESSION[5:], "needed": 2, "of": 3}
TEXT = {
    "display": [{"label": "Amount", "value": "€12,500"}],
    "digest": DIGEST,
    "quorum": RULE,
}
OTHER_ORIGIN, OTHER_TENANT = "https://bond.example.evil", TENANT[:-1] + "d"
USERS = ["Ada", "Bela", "Chen", "Dana", "Emil"]


def ruled(needed=2, of=3, **change):
    """The text with another rule."""
    return {**TEXT, "quorum": {**RULE, "needed": needed, "of": of, **change}}


def without(name):
    return {key: value for key, value in TEXT.items() if key != name}


def approval(user, form="software", context=TEXT, phone=None, said=None, **change):
    """The claims of a completed session. `phone` names a key, and `said` is only in P."""
    session = "sess_" + sha256(user.encode()).hex()[:22]
    names = {"tenant_id": "aud", "workflow": "workflow", "action": "action", "origin": "iss"}
    same = {name: change[claim] for name, claim in names.items() if claim in change}
    of = {**ASSERTION, "session_id": session, **same, "context": context, **(said or {})}
    text = payload("bonded-assertion/v1", of)
    key = phone or f"phone of {user}"
    made = claims(
        form,
        context,
        signed(form, text, key=key),
        text,
        **{
            "session_id": session,
            "state": "completed",
            "completed_at": "2026-11-21T09:40:00.000Z",
            "outcome": "accepted",
            "subject_ref": sha(user),
            "device_ref": sha(f"device of {user}"),
            "jti": sha(f"jti of {user}")[:22],
            **change,
        },
    )
    return {**made, "phone": {**made["phone"], "public_key": b64url(spki(key))}}


def one(user, *of, **change):
    return {"receipt": jws(approval(user, *of, **change))}


def several(count, **change):
    return [one(user, **change) for user in USERS[:count]]


def given(*receipts, **more):
    expected = {"tenant_id": TENANT, "workflow": "credit_application", "digest": DIGEST}
    return {"receipts": list(receipts), **expected, "minimum": 2, **more}


ADA, BELA, CHEN = several(3)


def logged(single, index, **of):
    return {**single, "proof": proof(single["receipt"], index, 7, **of)}


def valid_quorums(file):
    rule = "16: the receipts of enough users"
    file.valid(rule, "two of three", given(ADA, BELA))
    file.valid(rule, "in another order", given(CHEN, ADA))
    file.valid(rule, "more than are needed", given(ADA, BELA, CHEN))
    three = several(3, context=ruled(3))
    file.valid(rule, "three are needed, at least three", given(*three, minimum=3))
    most = several(5, context=ruled(5, 10))
    file.valid(rule, "five of ten, at least five", given(*most, minimum=5))
    forms = [one(user, form) for user, form in zip(USERS, APPS)]
    file.valid(rule, "each with a phone of another format", given(*forms))
    file.valid(rule, "a minimum of one, which says no more than two", given(ADA, BELA, minimum=1))
    proofs = logged(ADA, 3), logged(BELA, 5, origin=EPOCH)
    file.valid(rule, "each with a proof of the log", given(*proofs))
    retired = {"receipt": jws(approval("Bela"), "retired service")}
    file.valid(rule, "one that a retired key signed", given(ADA, retired))
    later = one("Bela", a_claim_of_later=[1], workflow_title=None, tenant_name="Example Bank AG")
    file.valid(rule, "claims that are not of the text differ", given(ADA, later))
    ordered = one("Bela", context={name: TEXT[name] for name in sorted(TEXT)})
    file.valid(rule, "the members of a text have another order", given(ADA, ordered))
    more = {**TEXT, "requester": {"kind": "agent", "name": "Payments"}, "text": "a\nb"}
    file.valid(rule, "a text with a requester", given(*several(2, context=more)))
    late = one("Bela", bonded_at="2026-11-22T09:29:50.000Z")
    file.valid(rule, "exactly 24 hours", given(ADA, late))


def invalid_quorums(file):
    rule = "16: too_few_receipts: at least needed of them"
    file.invalid(rule, "none", given())
    file.invalid(rule, "one of two", given(ADA))
    file.invalid(rule, "two of three that are needed", given(*several(2, context=ruled(3))))

    rule = "16: user_repeated: users and keys, all of them different"
    file.invalid(rule, "one receipt twice", given(ADA, ADA))
    again = one("Bela", subject_ref=sha("Ada"))
    file.invalid(rule, "one user with two phones", given(ADA, again))
    file.invalid(rule, "one user with two phones, beside another user", given(ADA, again, CHEN))
    file.invalid(rule, "one phone of two users", given(ADA, one("Bela", phone="phone of Ada")))
    nameless = one("Bela", subject_ref=None)
    file.invalid(rule, "one without a user", given(ADA, nameless))
    file.invalid(rule, "enough users, and one without", given(ADA, nameless, CHEN))

    rule = "16: quorum_mismatch: one service, action and context, with a rule"
    for comment, context in (
        ("another text", {**TEXT, "display": [{"label": "Amount", "value": "€12,501"}]}),
        ("another digest", {**TEXT, "digest": sha("another wire")}),
        ("another quorum", ruled(id="quo_" + DEVICE[4:])),
        ("a larger needed", ruled(3)),
        ("no rule", without("quorum")),
    ):
        file.invalid(rule, f"the second has {comment}", given(ADA, one("Bela", context=context)))
    lower = given(one("Ada", context=ruled(3)), BELA, CHEN, minimum=2)
    file.invalid(rule, "the first has a larger needed", lower)
    alone = several(2, context=without("quorum"))
    file.invalid(rule, "two sessions of one user each", given(*alone))
    file.invalid(rule, "the rule is null", given(*several(2, context={**TEXT, "quorum": None})))
    file.invalid(rule, "no context", given(*several(2, context=None)))
    file.invalid(rule, "the second has another action", given(ADA, one("Bela", action="view")))
    foreign = one("Bela", iss=OTHER_ORIGIN)
    file.invalid(rule, "the second is of another service", given(ADA, foreign))

    rule = "16: tenant_mismatch, workflow_mismatch: each is for this tenant and workflow"
    file.invalid(rule, "another tenant is expected", given(ADA, BELA, tenant_id=OTHER_TENANT))
    foreign = one("Bela", aud=OTHER_TENANT)
    file.invalid(rule, "the second is of another tenant", given(ADA, foreign))
    file.invalid(rule, "another workflow is expected", given(ADA, BELA, workflow="wire"))
    foreign = one("Bela", workflow="wire")
    file.invalid(rule, "the second is of another workflow", given(ADA, foreign))

    rule = "16: digest_mismatch: the digest is the expected one"
    file.invalid(rule, "another digest is expected", given(ADA, BELA, digest=sha("another wire")))
    file.invalid(rule, "the text has no digest", given(*several(2, context=without("digest"))))

    rule = "16: needed_too_low: needed is at least the minimum, and at least 2"
    file.invalid(rule, "two are needed, at least three", given(ADA, BELA, CHEN, minimum=3))
    lowest = several(2, context=ruled(1))
    file.invalid(rule, "one is needed", given(*lowest, minimum=1))
    file.invalid(rule, "needed is a text", given(*several(2, context=ruled("2"))))

    rule = "16: not_completed: each is completed and accepted"
    bond = {"state": "bonded", "completed_at": None, "outcome": None}
    file.invalid(rule, "the second is of a bond", given(ADA, one("Bela", **bond)))
    file.invalid(rule, "a bond beside enough others", given(ADA, BELA, one("Chen", **bond)))
    file.invalid(rule, "the second is in review", given(ADA, one("Bela", outcome="in_review")))
    accepted = one("Bela", state="bonded", completed_at=None)
    file.invalid(rule, "the second is of a bond, and accepted", given(ADA, accepted))

    rule = "16: too_far_apart: 24 hours at most, from the first creation to the last bond"
    late = one("Bela", bonded_at="2026-11-22T09:29:50.001Z")
    file.invalid(rule, "a millisecond more", given(ADA, late))
    day = "2026-11-22T"
    later = one("Ada", created_at=day + "09:00:00.000Z", bonded_at=day + "10:00:00.000Z")
    file.invalid(rule, "created on another day", given(later, BELA))
    file.invalid(rule, "a time that is none", given(ADA, one("Bela", created_at="yesterday")))

    rule = "16: each is verified as in 13"
    head, body, signature = BELA["receipt"].split(".")
    broken = {"receipt": f"{head}.{body}.{flip(signature)}"}
    file.invalid(rule, "the second has another signature", given(ADA, broken))
    stranger = {"receipt": jws(approval("Bela"), "stranger")}
    file.invalid(rule, "a stranger signed the second", given(ADA, stranger))
    unsigned = one("Bela", said={"context": without("quorum")})
    file.invalid(rule, "the second phone signed no rule", given(ADA, unsigned))
    more = several(2, said={"context": ruled(3)})
    file.invalid(rule, "both phones signed a larger needed", given(*more))
    moved = one("Bela", said={"session_id": SESSION})
    file.invalid(rule, "the second phone signed another session", given(ADA, moved))
    forged = approval("Bela")
    forged["phone"]["public_key"] = b64url(spki("phone of Chen"))
    file.invalid(rule, "another key than the second phone's", given(ADA, {"receipt": jws(forged)}))
    foreign = {**BELA, "proof": logged(ADA, 3)["proof"]}
    file.invalid(rule, "the second has the proof of the first", given(ADA, foreign))
    file.invalid(rule, "a proof beside enough others", given(ADA, BELA, {**CHEN, "proof": "x"}))


def quorums():
    file = File(
        "quorums",
        [
            "valid: a verifier accepts receipts as the approval of several users (16). It expects",
            "tenant_id, workflow and digest. At least minimum of them had to approve. Each",
            "receipt has receipt, and proof where it is given, which receipts.json describes.",
        ],
    )
    file.content["shared"] = {"jwks": JWKS}
    valid_quorums(file)
    invalid_quorums(file)
    file.write()


if __name__ == "__main__":
    quorums()
