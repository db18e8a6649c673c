"""Approvals by users who are not in front of a page of yours, without I/O.

The rules are those of `@bonded/integrator/approval`, and so are the rows of its stores.
"""
from __future__ import annotations

import contextlib
import dataclasses
import json
import operator
import secrets
import urllib.parse
from typing import Any, Callable, Mapping, Sequence

from .canonical import binding_digest, canonical_json
from .display import Pair, clean_display
from .errors import ApprovalError, BondedError, NotCanonicalError, NotStarted
from .gate import Policy, is_owner, judge_submit, require, time_of
from .lookalikes import escape_lookalikes, request_text
from .protocol import Blocking, Flow, Service, Sleep, is_session_id
from .stores import ApprovalStore, StoredApproval

# A verdict can be used for so long, unless its session ends sooner.
VERDICT_SECONDS = 30.0
# Three renewals can fail, and the clocks of two machines can differ by seconds, before another
# process takes the one that runs an action for dead.
LEASE_SECONDS = 60.0
RENEWAL_SECONDS = 15.0
# A repeated request says for this long that an earlier one was carried out.
KEPT_AFTER_EXPIRY_MS = 24 * 60 * 60_000
FIRST_POLL_SECONDS = 1.0
LONGEST_POLL_SECONDS = 10.0

# The status of a row that waits no more, whatever the service has.
STARTED = {
    **dict.fromkeys(("withdrawn", "failed"), "ended"),
    **dict.fromkeys(("running", "unknown"), "outcome_unknown"),
    **dict.fromkeys(("done", "completed", "reported_late", "unreported"), "executed"),
}
_EARLIER = {"outcome_unknown": "unknown", "executed": "done"}
_UNITS = (("minute", 60), ("hour", 60 * 60), ("day", 24 * 60 * 60))
_BEGUN = "ask_"

Arguments = dict[str, Any]
Describe = Callable[[Arguments], Sequence[Pair]]


@dataclasses.dataclass(frozen=True)
class Caller:
    """Who asks, and whom.

    `owner` is who asks, from your own sign-in or configuration: only the same owner can use the
    approval. `subject_ref` is the user's, of an earlier bond.
    """

    owner: str
    subject_ref: str
    requester: Mapping[str, str]


@dataclasses.dataclass(frozen=True)
class ApprovalRequest(Caller):
    """Who asks whom for what. The same `key` and arguments again return the same approval."""

    args: Mapping[str, Any]
    key: str | None = None


@dataclasses.dataclass(frozen=True)
class OpenedRequest:
    """A request that the user can answer for `expires_in` seconds.

    `inbox_url` is the same for every request and opens none: send it to the user.
    """

    id: str
    inbox_url: str
    expires_in: float


@dataclasses.dataclass(frozen=True)
class UnknownOutcome:
    """An action whose outcome is unknown.

    `running`: its process ended, or stands still. `unknown`: it raised. `since` is when its process
    last renewed the lease, or it raised, in seconds since the epoch.
    """

    id: str
    owner: str
    state: str
    subject_ref: str
    digest: str
    since: float


@dataclasses.dataclass(frozen=True)
class EarlierRequest:
    """A request of the same user for the same action, which was started before.

    `done`: the action has happened. `unknown`: it may have, or runs.
    """

    outcome: str
    seconds_ago: float


Decide = Callable[[UnknownOutcome], Any]


def describe_in_english(earlier: EarlierRequest) -> Pair:
    """The user can read the pair a day later, so the time counts from the request, not from now."""
    ago = "less than a minute"
    for unit, seconds in _UNITS:
        count = int(earlier.seconds_ago // seconds)
        if count > 0:
            ago = f"{count} {unit}{'s' if count > 1 else ''}"
    has = "was" if earlier.outcome == "done" else "may have been"
    value = f"The same request {has} carried out {ago} before this one"
    return {"label": "Repeated", "value": value}


@dataclasses.dataclass(frozen=True)
class Action:
    """One action whose every run needs an approval.

    `workflow` has `delivery: inbox`. Raise `version` when the meaning of the action changes:
    earlier approvals then run no more. `describe` returns what the user reads before the arguments:
    one to seven pairs, of the arguments alone, because they are made again when the action runs.
    """

    workflow: str
    action: str
    version: str
    describe: Describe
    # The pair of a repeated request, in the language of your users.
    describe_repeat: Callable[[EarlierRequest], Pair] = describe_in_english
    passport_required: bool = False
    tenant_id: str | None = None

    def __post_init__(self) -> None:
        require(workflow=self.workflow, action=self.action, version=self.version)

    def context_of(
        self, args: Mapping[str, Any], requester: Mapping[str, str], repeats: Pair | None = None
    ) -> tuple[str, dict[str, Any]]:
        """The arguments as canonical JSON, and the context that a user approves.

        Each reader of the arguments gets a copy of its own, so that no later change matters.
        """
        approved = _canonical_arguments(args)
        # Every request leaves space for the pair of a repeated one, which could fail only then.
        pair = repeats or self.describe_repeat(EarlierRequest("done", 0))
        given = clean_display([*self.describe(json.loads(approved)), pair])
        shown = clean_display([_without_lookalikes(one) for one in given])
        display = [*([] if repeats is None else shown[-1:]), *shown[:-1]]
        asker = dict(requester)
        if isinstance(asker.get("detail"), str):
            named = {"label": asker["name"], "value": asker["detail"]}
            asker["detail"] = _without_lookalikes(named)["value"]
        parsed = json.loads(approved)
        digest = binding_digest({"action": self.action, "version": self.version, "args": parsed})
        text = request_text(parsed)
        return approved, {"display": display, "requester": asker, "text": text, "digest": digest}


def _without_lookalikes(pair: Pair) -> dict[str, str]:
    """The value is judged in one line with its label, which is in the language of the user."""
    line = escape_lookalikes(f"{pair['label']}\n{pair['value']}")
    return {"label": pair["label"], "value": line.split("\n")[1]}


def _canonical_arguments(args: Mapping[str, Any]) -> str:
    try:
        text = canonical_json(args)
        if not isinstance(args, Mapping):
            raise NotCanonicalError("not an object")
        json.loads(text, object_pairs_hook=_reject_proto)
        return text
    except (NotCanonicalError, RecursionError) as error:
        message = f"The arguments are no object of JSON: {error}."
        raise ApprovalError("arguments_invalid", message) from error


def _reject_proto(members: list[tuple[str, Any]]) -> None:
    # A library of JavaScript would not run these arguments.
    if any(name == "__proto__" for name, _ in members):
        raise NotCanonicalError("a member is named __proto__")


def _reject_state(state: str) -> None:
    if state in ("running", "unknown"):
        raise _unknown("The action was started before, and its end is not known.")
    if state == "withdrawn":
        raise ApprovalError("not_approved", "The request was withdrawn.")
    if state != "waiting":
        raise ApprovalError("already_executed", "The approval was executed before.")


def _unknown(message: str) -> ApprovalError:
    return ApprovalError("outcome_unknown", message)


class ApprovalFlows:
    """The flows of `Approvals` and `AsyncApprovals`. Many threads may run them at once."""

    def __init__(self, service: Service, store: ApprovalStore, action: Action) -> None:
        self._service, self._store, self._of = service, store, action
        self._purpose = {"workflow": action.workflow, "action": action.action}
        passport, tenant_id = action.passport_required, action.tenant_id
        self._policy = Policy(action.workflow, action.action, passport, tenant_id=tenant_id)
        # The requests that this process makes.
        self._asking: set[str] = set()

    def request(self, of: ApprovalRequest) -> Flow[OpenedRequest]:
        if not is_owner(of.owner):
            raise BondedError("invalid_request", "owner must be a non-empty string.")
        while True:
            now = self._now()
            asked, digest, lookup, equal, begun = yield from self._equal(of)
            if of.key is not None:
                for row in equal:
                    if (row.members["asked"], row.members.get("key")) == (asked, of.key):
                        return self._opened(row)
            earlier = self._earlier(equal, now)
            # What ran after the other one began is not in its context.
            since = now - earlier.seconds_ago * 1_000 if earlier else 0
            begun = [one for one in begun if of.key is None and one.changed_at > since]
            found = begun[0] if begun else None
            repeats = earlier and dict(self._of.describe_repeat(earlier))
            ask = found.members["ask"] if found else secrets.token_urlsafe(24)
            if of.key is not None:
                ask = binding_digest({"lookup": lookup, "asked": asked, "key": of.key})
            beginning = {"asked": asked, "ask": ask, "key": of.key, "repeats": repeats}
            beginning = {name: value for name, value in beginning.items() if value is not None}
            id = f"{_BEGUN}{ask}"
            # With a key, it is found by its id. An equal request must not read all of them.
            found_by = lookup if of.key is None else id
            begun_now = StoredApproval(id, json.dumps(beginning), found_by, "waiting", now, now)
            self._asking.add(ask)
            try:
                yield Blocking(self._store.put, (begun_now,))
                # Another call can have begun it before, when there was something else to say.
                stored = (yield Blocking(self._store.find, (id,))) or begun_now
                beginning = stored.members
                _, context = self._of.context_of(of.args, of.requester, beginning.get("repeats"))
                purpose = {**self._purpose, "subject_ref": of.subject_ref}
                created = yield from self._service.create_from({**purpose, "context": context}, ask)
                data = {
                    **purpose,
                    "owner": of.owner,
                    "requester": dict(of.requester),
                    "digest": digest,
                    "completion_secret": created["completion_secret"],
                    "inbox_url": urllib.parse.urljoin(created["universal_link"], "/inbox"),
                    **beginning,
                }
                ends = int(time_of(created["expires_at"]) * 1_000)
                text = json.dumps(data)
                row = StoredApproval(created["id"], text, lookup, "waiting", now, ends)
                # If it fails, another process may have the same session: a repetition continues it.
                yield Blocking(self._store.put, (row,))
                # No caller knows the one that a process began. Once it has ended, ask anew.
                if found is None or created.get("state") not in ("completed", "killed", "expired"):
                    left = float(created["expires_in_ms"]) / 1_000
                    return OpenedRequest(row.id, data["inbox_url"], left)
            except BondedError as error:
                # It has no session. When it is repeated, the phone may have something else to say.
                if not error.retryable or error.reason == "inbox_full":
                    yield from self._quietly(Blocking(self._store.remove, (id,)))
                raise
            finally:
                self._asking.discard(ask)

    def latest(self, of: ApprovalRequest) -> Flow[tuple[OpenedRequest, str] | None]:
        asked, _, _, equal, _ = yield from self._equal(of)
        for row in equal:
            if row.members["asked"] == asked:
                return self._opened(row), (yield from self.status(row.id, of.owner))
        return None

    def withdraw(self, id: str, owner: str) -> Flow[None]:
        while True:
            row = yield from self._find(id, owner)
            # The row first: a session that has ended stops no action that runs.
            is_withdrawn = row.state == "withdrawn"
            if is_withdrawn or (yield from self._move(row, "waiting", "withdrawn")):
                return (yield from self._service.end(row.id))
            _reject_state(row.state)

    def status(self, id: str, owner: str) -> Flow[str]:
        row = yield from self._find(id, owner)
        if row.state != "waiting":
            return STARTED[row.state]
        try:
            session = yield from self._service.read(row.id)
        except BondedError as error:
            if error.code == "not_found":
                return "expired"
            raise
        return self._status_of(row, session)

    def wait(self, id: str, owner: str, timeout: float | None) -> Flow[str]:
        pause, waited = FIRST_POLL_SECONDS, 0.0
        row = yield from self._find(id, owner)
        while True:
            try:
                status = yield from self.status(id, owner)
                if status != "waiting":
                    return status
            except BondedError as error:
                if not error.retryable or self._now() >= row.expires_at:
                    raise
            if timeout is not None and waited + pause > timeout:
                raise TimeoutError("the user has not answered yet")
            yield Sleep(pause)
            waited, pause = waited + pause, min(pause * 1.5, LONGEST_POLL_SECONDS)

    def execute(
        self, id: str, owner: str, args: Mapping[str, Any], run: Callable[..., Any]
    ) -> Flow[Any]:
        row = yield from self._find(id, owner)
        _reject_state(row.state)
        approved, context = self._of.context_of(
            args, row.members["requester"], row.members.get("repeats")
        )
        until = yield from self._verify(row, context)
        if not (yield from self._move(row, "waiting", "running")):
            _reject_state((yield from self._find(id, owner)).state)
            # After a call that was not started, the row waits again, but this call does not have it.
            raise _unknown("Another call executes this approval.")
        try:
            if self._service.now() >= until:
                raise NotStarted("The check took too long.")
            result = yield Blocking(run, (json.loads(approved), row.id), lambda: self._renew(row))
        except GeneratorExit:
            raise
        except BaseException as error:
            after = "waiting" if isinstance(error, NotStarted) else "unknown"
            # The row stays `running` if this fails, which also is an unknown outcome.
            move = (row.id, "running", after, self._now())
            yield from self._quietly(Blocking(self._store.move, move))
            if after == "waiting" or not isinstance(error, Exception):
                raise
            raise _unknown("The action raised.") from error
        # The action has happened: its result is the answer, even if its end cannot be stored.
        with contextlib.suppress(Exception):
            yield from self._happened(row)
        return result

    def reconcile(self, decide: Decide | None) -> Flow[list[UnknownOutcome]]:
        found: list[UnknownOutcome] = []
        for row in (yield Blocking(self._store.unfinished)):
            if not self._is_ours(row):
                continue
            open_one = self._open_outcome(row)
            answer = None
            if open_one is not None and decide is not None:
                answer = yield Blocking(decide, (open_one,))
            if row.state == "done":
                yield from self._complete(row)
            elif answer == "done":
                yield from self._happened(row)
            elif answer == "failed":
                # It waits if it was not started after all. What is void must not be offered again.
                for before in (row.state, "waiting"):
                    yield from self._move(row, before, "failed")
            elif open_one is not None:
                found.append(open_one)
        yield Blocking(self._store.remove_expired, (self._now() - KEPT_AFTER_EXPIRY_MS,))
        return found

    def _equal(
        self, of: ApprovalRequest
    ) -> Flow[tuple[str, str, str, list[StoredApproval], list[StoredApproval]]]:
        """What was asked, equal requests by any caller, and those that a process only began."""
        _, context = self._of.context_of(of.args, of.requester)
        digest: str = context["digest"]
        asked = binding_digest(
            {"owner": of.owner, "subject_ref": of.subject_ref, "context": context}
        )
        lookup = binding_digest({**self._purpose, "subject_ref": of.subject_ref, "digest": digest})
        stored: Sequence[StoredApproval] = yield Blocking(self._store.with_lookup, (lookup,))
        equal = [row for row in stored if is_session_id(row.id)]
        has_session = {row.members["ask"] for row in equal} | self._asking
        begun = [one for one in stored if one.id.startswith(_BEGUN)]
        begun = [one for one in begun if one.members["asked"] == asked]
        begun = [one for one in begun if one.members["ask"] not in has_session]
        return asked, digest, lookup, equal, begun

    def _earlier(self, rows: Sequence[StoredApproval], now: int) -> EarlierRequest | None:
        """The newest equal request that was started: an agent that lost its id asks again."""
        rows = [row for row in rows if STARTED.get(row.state) in _EARLIER]
        if not rows:
            return None
        newest = max(rows, key=operator.attrgetter("changed_at"))
        return EarlierRequest(
            _EARLIER[STARTED[newest.state]], max(0, now - newest.changed_at) / 1_000
        )

    def _opened(self, row: StoredApproval) -> OpenedRequest:
        left = max(0, row.expires_at - self._now()) / 1_000
        return OpenedRequest(row.id, row.members["inbox_url"], left)

    def _open_outcome(self, row: StoredApproval) -> UnknownOutcome | None:
        """The open outcome of a row, unless a process runs its action at this moment."""
        since = row.changed_at / 1_000
        is_over = row.state == "running" and self._service.now() >= since + LEASE_SECONDS
        if row.state != "unknown" and not is_over:
            return None
        of = row.members
        return UnknownOutcome(
            row.id, of["owner"], row.state, of["subject_ref"], of["digest"], since
        )

    def _now(self) -> int:
        return int(self._service.now() * 1_000)

    def _renew(self, row: StoredApproval) -> None:
        self._store.move(row.id, "running", "running", self._now())

    def _is_ours(self, row: StoredApproval) -> bool:
        return is_session_id(row.id) and self._purpose.items() <= row.members.items()

    def _move(self, row: StoredApproval, before: str, after: str) -> Flow[bool]:
        moved: bool = yield Blocking(self._store.move, (row.id, before, after, self._now()))
        return moved

    def _quietly(self, effect: Blocking) -> Flow[None]:
        with contextlib.suppress(Exception):
            yield effect

    def _find(self, id: str, owner: str) -> Flow[StoredApproval]:
        row: StoredApproval | None = None
        if is_session_id(id):
            row = yield Blocking(self._store.find, (id,))
        is_theirs = row is not None and is_owner(owner) and row.members["owner"] == owner
        if row is None or not is_theirs or not self._is_ours(row):
            message = "The store has no such approval of this owner."
            raise ApprovalError("approval_unknown", message)
        return row

    def _judge(self, row: StoredApproval, session: Mapping[str, Any]) -> tuple[str, list[str]]:
        data = row.members
        stored = {**data, "session_id": row.id, "context_digest": data["digest"]}
        return judge_submit(session, stored, data["owner"], self._policy, data["digest"])

    def _verify(self, row: StoredApproval, context: object) -> Flow[float]:
        """Until when the action may begin, by the clock of this process."""
        # Before the call, whose duration must not extend the time.
        started = self._service.now()
        session = yield from self._service.read(row.id)
        decision, reasons = self._judge(row, session)
        # Not only the digest, but all that the user has read and signed.
        is_shown = canonical_json(session.get("context")) == canonical_json(context)
        if decision == "accept" and not is_shown:
            reasons = ["context_mismatch"]
        if reasons:
            message = f"The user has not approved this: {', '.join(reasons)}."
            raise ApprovalError("not_approved", message, reasons)
        left = time_of(session["expires_at"]) - time_of(session["server_time"])
        return started + min(left, VERDICT_SECONDS)

    def _status_of(self, row: StoredApproval, session: Mapping[str, Any]) -> str:
        state, ended = session.get("state"), session.get("ended_reason")
        if state in ("pending", "step_up_required"):
            return "waiting"
        if state in ("expired", "completed"):
            return "expired" if state == "expired" else "executed"
        if ended in ("user_declined", "user_unexpected"):
            return "declined" if ended == "user_declined" else "reported"
        decision, _ = self._judge(row, session)
        return {"accept": "approved", "review": "review", "reject": "ended"}[decision]

    def _happened(self, row: StoredApproval) -> Flow[None]:
        """Stores that the action has happened, also after a look-up that has found nothing of it."""
        for before in ("running", "unknown", "failed"):
            if (yield from self._move(row, before, "done")):
                return (yield from self._complete(row))

    def _complete(self, row: StoredApproval) -> Flow[None]:
        """Shows the user that the action is done. `reconcile` repeats it where the service failed."""
        data = row.members
        try:
            yield from self._service.complete(row.id, data["completion_secret"], data["digest"])
        except BondedError as error:
            # The service does not complete the session, now or later.
            if error.code in ("not_found", "invalid_request"):
                after = "reported_late" if error.reported_at else "unreported"
                yield from self._move(row, "done", after)
            return
        yield from self._move(row, "done", "completed")
