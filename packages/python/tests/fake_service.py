"""A service in memory for the tests: its answers are those of the protocol."""
import asyncio
import json
import re

import bonded
import httpx
from bonded.canonical import binding_digest
from vectors import BASE_URL, CREDENTIAL, VECTORS

TENANT = "ten_" + "t" * 22
GOOD = next(
    one["session"]["verification"] for one in VECTORS["verdicts"] if one["expected"][0] == "accept"
)


class Clock:
    """Is moved by the tests, and by every wait."""

    def __init__(self):
        self.seconds = 1_795_253_400.0

    def now(self):
        return self.seconds

    def sleep(self, seconds):
        self.seconds += seconds


def iso(seconds):
    import datetime

    at = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class FakeService:
    def __init__(self, clock):
        self.clock, self.sessions, self.keys, self.completed = clock, {}, {}, []
        self.quorums, self.bodies = {}, []
        # Answers in place of the next ones: (method, status, error).
        self.failing = []

    def handle(self, request):
        if self.failing and self.failing[0][0] == request.method:
            _, status, error = self.failing.pop(0)
            return httpx.Response(status, json={"error": error})
        if request.method == "POST" and request.url.path.endswith(("/sessions", "/quorums")):
            return self.create(request)
        quorum = re.findall(r"quo_\w{22}", request.url.path)
        if quorum:
            if quorum[0] not in self.quorums:
                return self.rejection(404, "not_found")
            return httpx.Response(200, json={"sessions": self.members(quorum[0])})
        id = re.findall(r"sess_\w{22}", request.url.path)[0]
        session = self.sessions.get(id)
        if session is None:
            return self.rejection(404, "not_found")
        if request.method == "DELETE":
            session.update(state="killed", ended_reason="killed_by_tenant")
            return httpx.Response(204)
        if request.method == "POST":
            rule = session["context"].get("quorum")
            others = [self.sessions[one] for one in self.quorums[rule["id"]]] if rule else []
            bonded = [one for one in others if one["state"] in ("bonded", "completed")]
            if rule and len(bonded) < rule["needed"]:
                return self.rejection(400, "invalid_request", reason="session_not_bonded")
            self.completed.append(id)
            session.update(state="completed")
            for one in others:
                if one["state"] == "pending":
                    one.update(state="killed", ended_reason="decided")
            return httpx.Response(200, json={"ok": True})
        alone = {"verification": None} if "quorum" in session["context"] else {}
        return httpx.Response(200, json={**session, **alone, "server_time": self.time()})

    def time(self):
        return iso(self.clock.now())

    def members(self, quorum):
        sessions = [self.sessions[id] for id in self.quorums[quorum]]
        return [{**one, "server_time": self.time()} for one in sessions]

    def create(self, request):
        key, body = request.headers["idempotency-key"], request.content
        if key in self.keys:
            id, earlier = self.keys[key]
            if earlier != body:
                return self.rejection(409, "conflict", reason="idempotency_mismatch")
            return httpx.Response(201, json=self.created(id))
        given = json.loads(body)
        self.bodies.append(given)
        refs = given.pop("subject_refs", None)
        if refs is None:
            id = self.add(given, given["subject_ref"])
        else:
            id = f"quo_{len(self.quorums):022d}"
            rule = {"id": id, "needed": given.pop("needed"), "of": len(refs)}
            given["context"]["quorum"] = rule
            del given["maker_ref"]
            self.quorums[id] = [self.add(given, ref) for ref in refs]
        self.keys[key] = id, body
        return httpx.Response(201, json=self.created(id))

    def created(self, id):
        if id in self.sessions:
            return self.sessions[id]
        return {"quorum_id": id, "sessions": self.members(id)}

    def add(self, given, ref):
        id = f"sess_{len(self.sessions):022d}"
        self.sessions[id] = {
            **given,
            "subject_ref": ref,
            "id": id,
            "state": "pending",
            "tenant_id": TENANT,
            "verification": None,
            "ended_reason": None,
            "completion_secret": "bcs_" + "c" * 43,
            "universal_link": f"{BASE_URL}/bond?session_id={id}",
            "expires_at": iso(self.clock.now() + 3_600),
            "expires_in_ms": 3_600_000,
        }
        return id

    def rejection(self, status, code, **more):
        return httpx.Response(status, json={"error": {"code": code, "message": "No.", **more}})

    def bond(self, id, **verification):
        approved = {"verification": {**GOOD, **verification}, "reported_at": None}
        self.sessions[id].update(state="bonded", **approved)


class InLoops:
    """`AsyncApprovals`, each of whose calls runs in an event loop."""

    def __init__(self, approvals):
        self._approvals = approvals

    def __getattr__(self, name):
        method = getattr(self._approvals, name)
        return lambda *args, **named: asyncio.run(method(*args, **named))


def open_approvals(kind, service, store, action):
    """The approvals of a client, with the clock of the fake service."""
    transport = httpx.MockTransport(service.handle)
    if kind == "sync":
        client = bonded.Bonded(BASE_URL, CREDENTIAL, http=httpx.Client(transport=transport))
        opened = bonded.Approvals(client, store, action)
    else:
        http = httpx.AsyncClient(transport=transport)
        client = bonded.AsyncBonded(BASE_URL, CREDENTIAL, http=http)
        opened = InLoops(bonded.AsyncApprovals(client, store, action))
    client.service.now = client.service._elapsed = service.clock.now
    return opened


def digest_of(action, version, args):
    return binding_digest({"action": action, "version": version, "args": args})
