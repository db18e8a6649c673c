"""A client of Bonded Sessions for a Python backend, with the standard library only.

It makes the three calls of a backend (protocol 3) and the checks of the gate (description, part 4).
Store a row for each session that you create, and use it in the transaction of your action.
"""
import base64
import dataclasses
import datetime
import hashlib
import json
import math
import random
import re
import secrets
import time
import urllib.error
import urllib.parse
import urllib.request

MIN_CONFIDENCE = 0.55
MIN_CONTINUITY = 0.6
ATTEMPTS = 4
ATTEMPT_SECONDS = 3
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


class BondedError(Exception):
    """A failed call. Branch on `status` (None: no answer) and `reason`, never on the text."""

    def __init__(self, message, status=None, reason=None, request_id=None, param=None, doc_url=None):
        super().__init__(message)
        self.status, self.reason, self.request_id = status, reason, request_id
        # The member that the service rejected, such as context.display.0.value.
        self.param = param
        # The service's page about the reason.
        self.doc_url = doc_url

    @property
    def retryable(self):
        return self.status is None or self.status == 429 or self.status >= 500


def canonical_json(value):
    """RFC 8785 for what a form has. Decimal numbers have no exact form: pass them as strings."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, int):
        if abs(value) > 2**53 - 1:
            raise TypeError("pass an integer beyond 2^53 - 1 as a string")
        return str(value)
    if isinstance(value, str):
        value.encode()  # A lone surrogate raises.
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        pairs = (f"{canonical_json(name)}:{canonical_json(value[name])}" for name in names)
        return "{" + ",".join(pairs) + "}"
    raise TypeError(f"a {type(value).__name__} has no canonical form: pass a string")


def binding_digest(record):
    """The digest of a record, for the context at create and of the submitted form later."""
    digest = hashlib.sha256(canonical_json(record).encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


# Letters of the Arabic script that no joiner separates from the next one, because they never join it.
NOT_JOINED = "\u0621-\u0625\u0627\u0629\u062f-\u0632\u0648\u0671-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3"
VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
JOINER = f"(?<=[{VIRAMA}])[\u200c\u200d](?=\\w)|(?<=[\u0620-\u06d3])(?<![{NOT_JOINED}])\u200c(?=[\u0620-\u06d3])"
# Controls, format characters and fillers, which have no glyph; directional marks among them.
INVISIBLE = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\U0001d159\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)


def display_text(text):
    """The same text as a phone may show it: one space for runs and line breaks, nothing invisible.

    An empty text becomes a dash. It removes nothing that a user sees: what is too long, or drawn in
    different ways, stays, and the service rejects it with `param`. The directional marks of Arabic
    and Hebrew amounts are removed.
    """
    text = re.sub(r"[\t-\r\x85\u2028\u2029]", " ", "" if text is None else text)
    text = re.sub(f"(?!{JOINER})[{INVISIBLE}]", "", text)
    if re.search(r"\s{2,}", text):
        text = re.sub(r"\s{2,}", " ", text).strip()
    return text if text.strip() else "—"


@dataclasses.dataclass(frozen=True)
class Policy:
    """What your backend requires of a bond. Repeat what the policy of the workflow requires."""

    workflow: str
    action: str
    passport_required: bool = False
    # For `require: ["browser"]`: the exact origin of your page, such as https://www.bank.example.
    # Without it, a session that a browser has proved is rejected.
    browser_origin: str | None = None
    # Accepts sessions without a `subject_ref` in a workflow that requires the browser, such as a
    # registration: they prove that a phone and the page are together, but not whose they are.
    first_bond: bool = False
    # Your tenant: a session of another one is rejected.
    tenant_id: str | None = None

    def __post_init__(self):
        origin = self.browser_origin
        if origin is not None and not re.fullmatch(r"https?://[a-z0-9.:\[\]-]+", origin):
            raise ValueError("browser_origin must be an origin, such as https://www.bank.example")

    @property
    def needs_user(self):
        return self.browser_origin is not None and not self.first_bond


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The credential never follows a redirect to another host."""

    def redirect_request(self, *_):
        return None


class Bonded:
    """The calls of a backend. `base_url` is the origin of the service."""

    def __init__(self, base_url, server_credential, sleep=time.sleep):
        url = urllib.parse.urlsplit(base_url)
        is_base = url.path.rstrip("/") in ("", "/api/v1") and url.hostname is not None
        if not is_base or url.query or "@" in url.netloc:
            raise ValueError("base_url must be an origin, such as https://bond.example")
        if url.scheme != "https" and not (url.scheme == "http" and url.hostname in LOCAL_HOSTS):
            raise ValueError("base_url must be https: the credential travels over it")
        self._base_url = f"{url.scheme}://{url.netloc}/api/v1"
        self._credential, self._sleep = server_credential, sleep
        self._opener = urllib.request.build_opener(_NoRedirect)

    def create(
        self, policy, display, digest, end_user_address, subject_ref=None, requester=None, text=None
    ):
        """Creates a session. Keep its completion_secret, and send the page all other members.

        `end_user_address` is the IP address of the user's browser, by which the service limits the
        sessions of each network. With None, one visitor can use up the sessions of all others.

        With the `subject_ref` of an earlier bond, only a phone of that user can approve. Store it.

        `requester` says for whom you ask, as `{"kind": "agent", "name": "Invoice agent"}`. `text`
        has the complete parameters, up to 200 lines. The phone shows and signs both unchanged.
        """
        if policy.needs_user and subject_ref is None:
            raise ValueError("pass the subject_ref of the user, or set first_bond")
        body = {"workflow": policy.workflow, "action": policy.action}
        pairs = ((pair["label"], pair["value"]) for pair in display)
        shown = [{"label": display_text(label), "value": display_text(value)} for label, value in pairs]
        body["context"] = {"display": shown, "digest": digest}
        asked = {"requester": requester, "text": text}
        body["context"].update({name: value for name, value in asked.items() if value is not None})
        if end_user_address is not None:
            body["end_user_address"] = end_user_address
        if subject_ref is not None:
            body["subject_ref"] = subject_ref
        # One key for all attempts: a repetition returns the session that exists already.
        return self._call("POST", "", {"Idempotency-Key": secrets.token_urlsafe(24)}, body)

    def read(self, session_id, browser_secret=None):
        """Reads a session. The service shows a proof of the browser only for the form's secret."""
        is_secret = re.fullmatch(r"[A-Za-z0-9_-]{43}", str(browser_secret)) is not None
        headers = {"X-Bond-Browser-Secret": browser_secret} if is_secret else {}
        return self._call("GET", f"/{urllib.parse.quote(session_id, safe='')}", headers)

    def complete(self, session_id, completion_secret, digest, outcome="accepted"):
        """After the commit of the action. The user reads `outcome`: `accepted`, or `in_review`."""
        headers = {"X-Bond-Completion-Secret": completion_secret, "X-Bond-Context-Digest": digest}
        headers["X-Bond-Outcome"] = outcome
        path = f"/{urllib.parse.quote(session_id, safe='')}/form-completed"
        return self._call("POST", path, headers)

    def _call(self, method, path, headers=None, body=None):
        for attempt in range(ATTEMPTS):
            try:
                return self._send(method, path, headers or {}, body)
            except BondedError as error:
                if not error.retryable or attempt == ATTEMPTS - 1:
                    raise
                self._sleep(random.uniform(0, 0.2 * 2**attempt))

    def _send(self, method, path, headers, body):
        sent = {"Authorization": f"Bearer {self._credential}", "Accept": "application/json"}
        if body is not None:
            sent["Content-Type"] = "application/json"
        request = urllib.request.Request(
            f"{self._base_url}/sessions{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={**sent, **headers},
            method=method,
        )
        try:
            with self._opener.open(request, timeout=ATTEMPT_SECONDS) as response:
                answer = json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise _rejection(error) from None
        except (OSError, ValueError, RecursionError) as error:
            # No answer, or half of one: the service may have performed the call.
            raise BondedError("the service did not answer") from error
        if not isinstance(answer, dict):
            raise BondedError("the answer is not one of the service: check base_url", 0)
        return answer


def _rejection(response):
    try:
        error = json.loads(response.read())["error"]
        message, reason, request_id = error["message"], error.get("reason"), error["requestId"]
        param, doc_url = error.get("param"), error.get("doc_url")
        doc_url = doc_url and urllib.parse.urljoin(response.url, doc_url)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        message, reason, request_id = f"the service answered {response.code}", None, None
        param = doc_url = None
    return BondedError(message, response.code, reason, request_id, param, doc_url)


def judge_submit(session, row, owner, policy, digest):
    """The checks of a protected submit, in the order of the contract: (decision, reasons).

    `session` is the answer to `read`, `row` your own row of the session (a dict), and `digest` the
    `binding_digest` of the form as it was submitted. After `accept`, act and then complete.
    """
    reason = _session_rejection(session, row, owner, policy)
    reason = reason or _verification_rejection(session, row, policy, digest)
    if reason:
        return "reject", [reason]
    doubts = _doubts(session["verification"])
    return ("review", doubts) if doubts else ("accept", [])


def _session_rejection(session, row, owner, policy):
    if not row:
        return "session_not_ours"
    if policy.needs_user and row["subject_ref"] is None:
        return "subject_mismatch"
    if session.get("id") != row["session_id"]:
        return "session_unavailable"
    if session.get("state") != "bonded":
        is_suspended = session.get("ended_reason") == "tenant_suspended"
        return "tenant_suspended" if is_suspended else "session_not_bonded"
    if policy.tenant_id is not None and session.get("tenant_id") != policy.tenant_id:
        return "tenant_mismatch"
    if session.get("workflow") != policy.workflow:
        return "workflow_mismatch"
    if session.get("action") != policy.action:
        return "action_mismatch"
    # By the service's own clock: a wrong one here neither ends a bond early nor prolongs it.
    if not _time(session.get("expires_at")) > _time(session.get("server_time")):
        return "session_expired"
    # Two missing owners are not the same owner.
    is_ours = isinstance(owner, str) and owner.strip() != "" and row["owner"] == owner
    if not is_ours or (row["workflow"], row["action"]) != (policy.workflow, policy.action):
        return "session_not_ours"
    return None


def _verification_rejection(session, row, policy, digest):
    verification = session.get("verification")
    if not isinstance(verification, dict):
        return "verification_missing"
    if verification.get("device_possession") is not True:
        return "device_not_possessed"
    if verification.get("local_auth") != "verified":
        return "local_auth_not_verified"
    if policy.passport_required and _member(verification, "passport", "tier") != "chip":
        return "passport_chip_missing"
    approved = _member(session, "context", "digest")
    if not digest or not approved:
        return "context_missing"
    if not digest == approved == row["context_digest"]:
        return "context_mismatch"
    if row["subject_ref"] is not None and session.get("subject_ref") != row["subject_ref"]:
        return "subject_mismatch"
    # A proof that the policy does not expect passes nowhere: any origin would do.
    expects, proved = policy.browser_origin is not None, verification.get("browser") is not None
    origin = _member(verification, "browser", "origin")
    if (expects or proved) and (not expects or origin != policy.browser_origin):
        return "browser_not_proved"
    return None


def _doubts(verification):
    confidence = verification.get("human_presence_confidence")
    if confidence is None:
        confidence = verification.get("assertion_confidence")
    sim_swap = _member(verification, "carrier", "sim_swap_recent")
    continuity = _member(verification, "sensor_continuity", "continuity_score")
    checks = {
        "low_confidence": _at_least(confidence, MIN_CONFIDENCE),
        "sim_swap_recent": sim_swap is None or sim_swap is False,
        "low_continuity": _at_least(continuity, MIN_CONTINUITY),
    }
    return [name for name, passed in checks.items() if not passed]


def _member(value, outer, inner):
    """A member of an optional object. None if one of them is missing."""
    return (value.get(outer) or {}).get(inner)


def _at_least(score, minimum):
    """A score must be a number: True and "0.9" are none."""
    return type(score) in (int, float) and score >= minimum


def _time(text):
    """Seconds since the epoch. A text that is no time is later than nothing."""
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except (AttributeError, ValueError):
        return math.nan
