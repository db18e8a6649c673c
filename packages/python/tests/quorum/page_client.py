"""A backend that lets two people approve a transfer, written from docs/reference/protocol.md alone.

It imports nothing of the package. It asks at its start, and reads the quorum at each line of its
input. It prints what it decides.
"""
import base64
import hashlib
import json
import os
import sys
import time
import urllib.parse
import urllib.request
import uuid

API = os.environ["BONDED_ORIGIN"] + "/api/v1"
CREDENTIAL, TENANT = os.environ["BONDED_SERVER_CREDENTIAL"], os.environ["TENANT"]
WORKFLOW, ACTION = "wire", "act"
# How many people must approve at least (16): never of the record or of a request.
MINIMUM = 2
MAX_AGE_SECONDS = 30
MIN_CONFIDENCE, MIN_CONTINUITY = 0.55, 0.6


def call(method, path, headers=None, body=None):
    sent = {"Authorization": f"Bearer {CREDENTIAL}", **(headers or {})}
    if body is not None:
        sent["Content-Type"] = "application/json"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(API + path, data, sent, method=method)
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def digest_of(order):
    """Any data that the backend binds (4), as base64url without padding (1)."""
    data = json.dumps(order, sort_keys=True).encode()
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def ask(order, refs, needed):
    """The backend's own record of the quorum (16, Create)."""
    display = [{"label": "Amount", "value": order["amount"]}]
    context = {"display": display, "digest": digest_of(order)}
    body = {"workflow": WORKFLOW, "action": ACTION, "context": context}
    body |= {"subject_refs": refs, "needed": needed, "maker_ref": None}
    made = call("POST", "/quorums", {"Idempotency-Key": str(uuid.uuid4())}, body)
    secrets = {one["id"]: one["completion_secret"] for one in made["sessions"]}
    rule = {"id": made["quorum_id"], "needed": needed, "of": len(refs)}
    return {"rule": rule, "refs": refs, "secrets": secrets, "order": order, "is_used": False}


def approves(session, record, digest):
    """Whether the session passes the gate (4) by itself, without a review."""
    proved = session["verification"] or {}
    motion, carrier = proved.get("sensor_continuity") or {}, proved.get("carrier") or {}
    return (
        session["state"] == "bonded"
        and session["expires_in_ms"] > 0
        and session["tenant_id"] == TENANT
        and (session["workflow"], session["action"]) == (WORKFLOW, ACTION)
        and session["id"] in record["secrets"]
        and proved.get("device_possession") is True
        and proved.get("local_auth") == "verified"
        and session["context"]["digest"] == digest
        and "browser" not in proved
        and proved.get("human_presence_confidence", 0) >= MIN_CONFIDENCE
        and carrier.get("sim_swap_recent", False) is False
        and motion.get("continuity_score", 0) >= MIN_CONTINUITY
    )


def judge(sessions, record, digest):
    """The gate (16). Returns why nothing may run, or None, and the sessions that count."""
    rule, refs = record["rule"], record["refs"]
    if rule["needed"] < MINIMUM:
        return "the rule is too weak", []
    if len(sessions) != rule["of"] or {one["id"] for one in sessions} != set(record["secrets"]):
        return "these are not the sessions of the quorum", []
    if any((one["context"] or {}).get("quorum") != rule for one in sessions):
        return "another rule was approved", []
    if any(one["ended_reason"] in ("user_declined", "user_unexpected") for one in sessions):
        return "a user said no", []
    approved = [one for one in sessions if approves(one, record, digest)]
    users = {one["subject_ref"] for one in approved}
    if len(users) != len(approved) or not users <= set(refs):
        return "the approvals are not of the users who were asked", []
    if len(approved) < rule["needed"]:
        return f"{len(approved)} of {rule['needed']} approvals", []
    return None, approved


def act(record):
    """Reads the quorum, and transfers if it passes the gate. Returns what it did."""
    if record["is_used"]:
        return "refused: the approvals were used"
    # Before the request, so that its duration counts.
    read_at = time.monotonic()
    quorum = call("GET", f"/quorums/{urllib.parse.quote(record['rule']['id'])}")
    digest = digest_of(record["order"])
    problem, approved = judge(quorum["sessions"], record, digest)
    if problem is not None:
        return f"refused: {problem}"
    if time.monotonic() - read_at > MAX_AGE_SECONDS:
        return "refused: the response is too old"
    record["is_used"] = True
    for one in approved:
        headers = {"X-Bond-Completion-Secret": record["secrets"][one["id"]]}
        headers |= {"X-Bond-Context-Digest": digest, "X-Bond-Outcome": "accepted"}
        call("POST", f"/sessions/{one['id']}/form-completed", headers)
    return f"transferred {record['order']['amount']}"


def act_on_one(record, session_id):
    """What a backend does that reads one session in place of the quorum."""
    session = call("GET", f"/sessions/{session_id}")
    passes = approves(session, record, digest_of(record["order"]))
    return "one session would pass" if passes else "refused: one session does not pass"


ours = ask({"amount": "€12,500", "to": "DE02"}, json.loads(os.environ["REFS"]), int(sys.argv[1]))
print(json.dumps({"quorum_id": ours["rule"]["id"], "ids": list(ours["secrets"])}), flush=True)
for line in sys.stdin:
    id = line.strip()
    print(act_on_one(ours, id) if id else act(ours), flush=True)
