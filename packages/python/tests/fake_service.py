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
        # Answers in place of the next ones: (method, status, error).
        self.failing = []

    def handle(self, request):
        if self.failing and self.failing[0][0] == request.method:
            _, status, error = self.failing.pop(0)
            return httpx.Response(status, json={"error": error})
        if request.method == "POST" and request.url.path.endswith("/sessions"):
            return self.create(request)
        id = re.findall(r"sess_\w{22}", request.url.path)[0]
        session = self.sessions.get(id)
        if session is None:
            return self.rejection(404, "not_found")
        if request.method == "DELETE":
            session.update(state="killed", ended_reason="killed_by_tenant")
            return httpx.Response(204)
        if request.method == "POST":
            self.completed.append(id)
            session.update(state="completed")
            return httpx.Response(200, json={"ok": True})
        return httpx.Response(200, json={**session, "server_time": iso(self.clock.now())})

    def create(self, request):
        key, body = request.headers["idempotency-key"], request.content
        if key in self.keys:
            id, earlier = self.keys[key]
            if earlier != body:
                return self.rejection(409, "conflict", reason="idempotency_mismatch")
            return httpx.Response(201, json=self.sessions[id])
        id = f"sess_{len(self.sessions):022d}"
        self.keys[key] = id, body
        self.sessions[id] = {
            **json.loads(body),
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
        return httpx.Response(201, json=self.sessions[id])

    def rejection(self, status, code, **more):
        return httpx.Response(status, json={"error": {"code": code, "message": "No.", **more}})

    def bond(self, id, **verification):
        self.sessions[id].update(state="bonded", verification={**GOOD, **verification})


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
