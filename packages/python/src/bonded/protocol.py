"""The calls of a backend (protocol 3), without I/O.

A flow is a generator: it yields the effects that it needs, receives their results, and returns its
own. `client.py` performs the effects, with and without `asyncio`.
"""
from __future__ import annotations

import dataclasses
import email.utils
import json
import random
import re
import secrets
import time
import urllib.parse
import zlib
from typing import Any, Callable, Generator, Mapping, NoReturn, Sequence, TypeVar

from .canonical import object_in
from .display import Pair, escape_hidden, shown_pairs
from .errors import BondedError
from .gate import Policy, require

T = TypeVar("T")
Flow = Generator[Any, Any, T]
Sessions = list[dict[str, Any]]

ATTEMPTS = 4
# Leaves time for a second attempt when the first one hangs.
ATTEMPT_SECONDS = 3.0
# The user waits at the form meanwhile, and would reload it later.
TOTAL_SECONDS = 8.0
FIRST_WAIT_SECONDS = 0.2
MAX_ANSWER_BYTES = 1_000_000
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_CREDENTIAL = re.compile("(sk_beta_[0-9A-Za-z]{10}_[0-9A-Za-z]{43})([0-9A-Za-z]{6})")
_ID = re.compile("(sess|quo)_[0-9A-Za-z]{22}")
_COMPLETION_SECRET = re.compile("bcs_[0-9A-Za-z_-]{43}")
_BROWSER_SECRET = re.compile("[A-Za-z0-9_-]{43}")
_MAX_MEMBER = 512
_NO_HEADER = "has a line break or another character that no header may have. Pass it as you got it."


@dataclasses.dataclass(frozen=True)
class Request:
    """The effect of one HTTP request. Its result is an `Answer`; no answer raises `NoAnswer`."""

    method: str
    url: str
    headers: Mapping[str, str] = dataclasses.field(repr=False)
    content: bytes | None
    timeout: float
    follow_redirects: bool = False


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    retry_after: str | None
    text: str


@dataclasses.dataclass(frozen=True)
class Sleep:
    """The effect of waiting for some seconds."""

    seconds: float


@dataclasses.dataclass(frozen=True)
class Blocking:
    """The effect of a call that can block, such as one of a store. `renew` renews its lease."""

    call: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    renew: Callable[[], object] | None = None


@dataclasses.dataclass(frozen=True)
class NewSession:
    """A session to create.

    `end_user_address` is the IP address of the user's browser, by which the service limits the
    sessions of each network. With None, one visitor can use up the sessions of all others.

    With the `subject_ref` of an earlier bond, only a phone of that user can approve. Store it.

    `requester` says for whom you ask, as `{"kind": "agent", "name": "Invoice agent"}`. `text` has the
    complete parameters, up to 200 lines. The phone shows and signs both unchanged.
    """

    policy: Policy
    display: Sequence[Pair]
    digest: str
    end_user_address: str | None
    subject_ref: str | None = None
    requester: Mapping[str, str] | None = None
    text: str | None = None
    phone_number: str | None = None


class NoAnswer(Exception):
    """No answer, or a part of one. The service may have performed the call."""


class Service:
    """Where the service is, and who calls it. Its clocks can be moved by tests."""

    def __init__(self, base_url: str, server_credential: str) -> None:
        for name, value in (("base_url", base_url), ("server_credential", server_credential)):
            if not isinstance(value, str) or value == "":
                _wrong(f"Pass {name}: a text.")
        self._base_url = _parse_base_url(base_url)
        self._credential = _parse_credential(server_credential)
        self.now: Callable[[], float] = time.time
        self._elapsed: Callable[[], float] = time.monotonic

    def call(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        *,
        attempts: int = ATTEMPTS,
        success: int = 200,
    ) -> Flow[dict[str, Any]]:
        """Calls the service, again while that can help: no answer, half of one, 429, and 5xx."""
        started = self._elapsed()
        sent = {"Authorization": f"Bearer {self._credential}", "Accept": "application/json"}
        for name, value in (headers or {}).items():
            if not re.fullmatch("[!-~]+", value):
                raise BondedError("invalid_request", f"{name} {_NO_HEADER}")
            sent[name] = value
        if body is not None:
            sent["Content-Type"] = "application/json"
        content = None if body is None else json.dumps(body).encode()
        for attempt in range(1, attempts + 1):
            left = max(0.001, TOTAL_SECONDS - (self._elapsed() - started))
            url, timeout = f"{self._base_url}{path}", min(ATTEMPT_SECONDS, left)
            request = Request(method, url, sent, content, timeout)
            try:
                try:
                    answer: Answer = yield request
                except NoAnswer as failure:
                    message = f"The service at {self._base_url} did not answer: {failure}."
                    raise BondedError("service_unavailable", message) from failure
                return self._read(answer, success, request)
            except BondedError as error:
                wait = random.uniform(0, FIRST_WAIT_SECONDS * 2 ** (attempt - 1))
                # Never shorter than the service asks for, and up to a half longer.
                wait = max(wait, (error.retry_after or 0) * random.uniform(1, 1.5))
                is_late = self._elapsed() - started + wait >= TOTAL_SECONDS
                if not error.retryable or attempt == attempts or is_late:
                    raise
            yield Sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _read(self, answer: Answer, success: int, request: Request) -> dict[str, Any]:
        members = object_in(answer.text)
        if answer.status != success:
            raise self._rejection(answer, (members or {}).get("error"), request)
        if success == 204:
            return {}
        if members is None:
            message = f"The service’s answer of {len(answer.text)} characters is not whole JSON."
            raise BondedError(
                "service_unavailable", message, status=answer.status, address=request.url
            )
        return members

    def _rejection(self, answer: Answer, error: Any, request: Request) -> BondedError:
        """The status decides. The body only explains, and a proxy has none."""
        members = error if isinstance(error, dict) else {}

        def text_of(name: str) -> str | None:
            value: Any = members.get(name)
            is_text = isinstance(value, str) and len(value) <= _MAX_MEMBER
            return escape_hidden(value) if is_text else None

        param = text_of("param")
        message = text_of("message") or f"The service answered {answer.status}."
        sent = _sent(param, json.loads(request.content)) if param and request.content else ""
        return BondedError(
            _code_of(answer.status, text_of("code")),
            message + sent,
            status=answer.status,
            param=param,
            doc_url=_resolved(text_of("doc_url"), request.url),
            address=request.url,
            request_id=text_of("requestId"),
            retry_after=self._retry_after(answer.retry_after),
            **{name: text_of(name) for name in ("reason", "reported_at")},
        )

    def _retry_after(self, header: str | None) -> float | None:
        if header is None or re.fullmatch("[0-9]{1,9}", header):
            return None if header is None else float(header)
        try:
            return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - self.now())
        except (TypeError, ValueError):
            return None

    def create(self, new: NewSession) -> Flow[dict[str, Any]]:
        if new.policy.needs_user and new.subject_ref is None:
            raise ValueError("pass the subject_ref of the user, or set first_bond")
        require(digest=new.digest)
        display = shown_pairs(new.display)
        context = _given(display=display, digest=new.digest, requester=new.requester, text=new.text)
        names = ("end_user_address", "subject_ref", "phone_number")
        more = {"context": context, **{name: getattr(new, name) for name in names}}
        body = _given(workflow=new.policy.workflow, action=new.policy.action, **more)
        # One key for all attempts: a repetition returns the session that exists already.
        _, (session,) = yield from self.create_from(body, secrets.token_urlsafe(24))
        return session

    def create_from(self, body: Mapping[str, Any], key: str) -> Flow[tuple[str, Sessions]]:
        """Creates a session, or those of a quorum. Returns its id, and all of them."""
        path, name = ("/quorums", "quorum_id") if "subject_refs" in body else ("/sessions", "id")
        created = yield from self.call("POST", path, {"Idempotency-Key": key}, body, success=201)
        sessions = [created] if name == "id" else _sessions_in(created)
        for one in [{**sessions[0], "id": created.get(name)}, *sessions] if sessions else [{}]:
            is_open = is_approval_id(one.get("id")) and isinstance(one.get("expires_at"), str)
            if not is_open or not _matches(_COMPLETION_SECRET, one.get("completion_secret")):
                message = "The answer to create is not a session. Check base_url."
                raise BondedError("unexpected_answer", message)
        return created[name], sessions

    def read(self, session_id: str, browser_secret: str | None = None) -> Flow[dict[str, Any]]:
        require(session_id=session_id)
        # Another text of the form must not become part of a header.
        is_secret = _matches(_BROWSER_SECRET, browser_secret)
        headers = {"X-Bond-Browser-Secret": str(browser_secret)} if is_secret else {}
        return self.call("GET", f"/sessions/{_path_part(session_id)}", headers)

    def read_quorum(self, quorum_id: str) -> Flow[Sessions]:
        """All sessions of a quorum at one instant: pass them to `judge_quorum`."""
        return _sessions_in((yield from self.call("GET", f"/quorums/{_path_part(quorum_id)}")))

    def complete(
        self, session_id: str, completion_secret: str, digest: str, outcome: str = "accepted"
    ) -> Flow[None]:
        require(session_id=session_id, completion_secret=completion_secret)
        require(digest=digest, outcome=outcome)
        headers = {"X-Bond-Completion-Secret": completion_secret, "X-Bond-Context-Digest": digest}
        headers["X-Bond-Outcome"] = outcome
        path = f"/sessions/{_path_part(session_id)}/form-completed"
        if (yield from self.call("POST", path, headers)).get("ok") is not True:
            raise BondedError("unexpected_answer", "The answer to form-completed lacks `ok: true`.")

    def end(self, session_id: str) -> Flow[None]:
        """Ends a session that nothing can use, so that no phone shows it, in one attempt."""
        path = f"/sessions/{_path_part(session_id)}"
        try:
            yield from self.call("DELETE", path, attempts=1, success=204)
        except BondedError as error:
            # The service has no such session any more, or none that is not over.
            if error.status != 404:
                message = f"The service did not end the session: {error}"
                raise BondedError("service_unavailable", message, status=error.status) from error


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def is_approval_id(text: object) -> bool:
    """Whether it is the id of a session or of a quorum."""
    return _matches(_ID, text)


def _sessions_in(answer: Mapping[str, Any]) -> Sessions:
    sessions = answer.get("sessions")
    if not isinstance(sessions, list) or not all(isinstance(one, dict) for one in sessions):
        raise BondedError("unexpected_answer", "The answer is not a quorum. Check base_url.")
    return sessions


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _path_part(text: str) -> str:
    return urllib.parse.quote(text, safe="")


def _code_of(status: int, code: str | None) -> str:
    if status == 429 or status >= 500:
        return "rate_limited" if status == 429 else "service_unavailable"
    # Without an error of the service, something else has answered: a wrong base_url gives a 404.
    if code is None or status < 400:
        return "unexpected_answer"
    if status == 404 and code == "not_found":
        return "not_found"
    return {401: "unauthorized", 403: "forbidden"}.get(status, "invalid_request")


def _sent(param: str, body: Any) -> str:
    """What the request has where the service rejects it. Never the value, which is a user's."""
    for name in param.split("."):
        if isinstance(body, list):
            body = {str(index): one for index, one in enumerate(body)}
        body = body.get(name) if isinstance(body, dict) else None
    if body is None or isinstance(body, dict):
        return ""
    if not isinstance(body, str):
        return f" {param} is of the type {type(body).__name__}."
    return f" {param} is a text of {len(body)} characters." if body else f" {param} is empty."


def _resolved(reference: str | None, address: str) -> str | None:
    try:
        return reference and urllib.parse.urljoin(address, reference)
    except ValueError:
        return None


def _parse_base_url(text: str) -> str:
    found = re.fullmatch(r"(https?://[^/?#@\\\s]+)(?:/api/v1)?/*", text)
    try:
        host = urllib.parse.urlsplit(found[1]).hostname if found else None
    except ValueError:
        host = None
    if found is None or not host:
        _wrong("base_url must be the origin of the service, such as https://bond.example.")
    if not found[1].startswith("https:") and host not in LOCAL_HOSTS:
        _wrong("base_url must be https: the server credential and the verdicts travel over it.")
    return f"{found[1]}/api/v1"


def _parse_credential(text: str) -> str:
    """Checks the checksum. Never prints the value: a mistyped credential is nearly one."""
    if text.strip() != text:
        _wrong(
            "server_credential begins or ends with a space or a line break. Strip what you read"
            " from a file."
        )
    if not text.startswith("sk_"):
        _wrong("server_credential is not a server credential: it does not begin with sk_beta_.")
    found = _CREDENTIAL.fullmatch(text)
    checksum, rest = "", zlib.crc32(found[1].encode()) if found else 0
    for _ in range(6):
        rest, digit = divmod(rest, 62)
        checksum = _BASE62[digit] + checksum
    if found is None or found[2] != checksum:
        _wrong(
            f"server_credential is cut or mistyped: its {len(text)} characters do not match their"
            " checksum. Copy all of it again."
        )
    return text


def _wrong(message: str) -> NoReturn:
    raise BondedError("invalid_configuration", message)
