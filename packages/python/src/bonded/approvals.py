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
from .gate import (
    Members,
    Policy,
    is_owner,
    judge_quorum,
    judge_submit,
    require,
    time_of,
)
from .lookalikes import escape_lookalikes, request_text
from .protocol import Blocking, Flow, Service, Sessions, Sleep, is_approval_id
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

    Where several people approve, it is None, and `people` are `{"person": …, "ref": …}`: a human by
    your own name, and a `subject_ref`. `needed` of them must approve. `maker` is the person for whom
    you ask, who is none of them, or None if you ask for no person. Take all three from your
    configuration or sign-in.
    """

    owner: str
    subject_ref: str | None
    requester: Mapping[str, str]
    _: dataclasses.KW_ONLY
    people: Sequence[Mapping[str, str]] | None = None
    needed: int | None = None
    # It must be stated, so that no default can let the maker approve.
    maker: object = ...


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
    # None for several people.
    subject_ref: str | None
    digest: str
    since: float


@dataclasses.dataclass(frozen=True)
class EarlierRequest:
    """A request of the same user for the same action, which was started before.

    `done`: the action has happened. `unknown`: it may have, or runs.
    """

    outcome: str
    seconds_ago: float


@dataclasses.dataclass(frozen=True)
class Progress:
    """A status, and how many people have approved.

    `note` is why one declined, in the words of that person, or None. It proves nothing, and is data:
    encode it wherever a program or a model reads it. The service has it for an hour after the end.
    """

    status: str
    approved: int
    needed: int
    note: str | None = None


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
    # Several people approve each action, at least this many: 2 to 5. An approval of one user then
    # runs nothing, whatever a request or a row says.
    minimum: int | None = None

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


def _approvers_of(of: Caller, minimum: int | None) -> dict[str, Any]:
    """Whom to ask. The service knows references, and not that two of them are of one human."""
    if of.people is None and minimum is None:
        return {"subject_ref": of.subject_ref}
    names, refs = ([one.get(name, "") for one in of.people or ()] for name in ("person", "ref"))
    is_named, count = all(map(is_owner, names + refs)), len(names)
    is_needed = type(of.needed) is int and (minimum or 0) <= of.needed <= min(count, 5)
    checks = [
        (minimum is not None, "people", "needs the minimum of the action"),
        (of.subject_ref is None, "subject_ref", "must be None beside people"),
        (is_named and 2 <= count <= 10, "people", "must be 2 to 10, each with a person and a ref"),
        (len(set(names)) == len(set(refs)) == count, "people", "repeat a person or a ref"),
        (of.maker is None or is_owner(of.maker), "maker", "must be stated: a person, or None"),
        (of.maker not in names, "people", "have the maker among them"),
        (is_needed, "needed", "must be from the minimum to 5, not more than people"),
    ]
    for param, message in [check[1:] for check in checks if not check[0]]:
        raise BondedError("invalid_request", f"{param} {message}.", param=param)
    people = [{"person": name, "ref": ref} for ref, name in sorted(zip(refs, names))]
    return {"people": people, "needed": of.needed, "maker": of.maker}


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


def _secrets_of(row: StoredApproval) -> Any:
    """The sessions of a row, with their completion secrets."""
    alone = {"secrets": [[row.id, row.members.get("completion_secret")]]}
    return row.members.get("quorum", alone)["secrets"]


def _unknown(message: str) -> ApprovalError:
    return ApprovalError("outcome_unknown", message)


class ApprovalFlows:
    """The flows of `Approvals` and `AsyncApprovals`. Many threads may run them at once."""

    def __init__(self, service: Service, store: ApprovalStore, action: Action) -> None:
        self._service, self._store, self._of = service, store, action
        self._purpose = {"workflow": action.workflow, "action": action.action}
        rules = (action.workflow, action.action, action.passport_required)
        self._policy = Policy(*rules, tenant_id=action.tenant_id, minimum=action.minimum)
        # The requests that this process makes.
        self._asking: set[str] = set()

    def request(self, of: ApprovalRequest) -> Flow[OpenedRequest]:
        if not is_owner(of.owner):
            raise BondedError("invalid_request", "owner must be a non-empty string.")
        while True:
            now = self._now()
            approvers, asked, digest, lookup, equal, begun = yield from self._equal(of)
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
                refs = [one["ref"] for one in approvers.get("people", ())]
                rule = {"needed": of.needed, "subject_refs": refs, "maker_ref": None}
                # The library compares people: the maker may have several references.
                id, sessions = yield from self._service.create_from(
                    {**self._purpose, **(rule if refs else approvers), "context": context}, ask
                )
                keys = [[one["id"], one["completion_secret"]] for one in sessions]
                alone = {**approvers, "completion_secret": keys[0][1]}
                several = {"needed": of.needed, "of": len(refs), "refs": refs, "secrets": keys}
                first, whom = sessions[0], {"quorum": several} if refs else alone
                data: dict[str, Any] = {**self._purpose, **whom, **beginning}
                data |= {"owner": of.owner, "digest": digest, "requester": dict(of.requester)}
                data["inbox_url"] = urllib.parse.urljoin(first["universal_link"], "/inbox")
                ends = int(time_of(first["expires_at"]) * 1_000)
                row = StoredApproval(id, json.dumps(data), lookup, "waiting", now, ends)
                # If it fails, another process may have the same session: a repetition continues it.
                yield Blocking(self._store.put, (row,))
                # No caller knows the one that a process began. Once it has ended, ask anew.
                over = ("completed", "killed", "expired")
                if found is None or any(one.get("state") not in over for one in sessions):
                    return OpenedRequest(id, data["inbox_url"], first["expires_in_ms"] / 1_000)
            except BondedError as error:
                # It has no session. When it is repeated, the phone may have something else to say.
                if not error.retryable or error.reason == "inbox_full":
                    with contextlib.suppress(Exception):
                        yield Blocking(self._store.remove, (begun_now.id,))
                raise
            finally:
                self._asking.discard(ask)

    def latest(self, of: ApprovalRequest) -> Flow[tuple[OpenedRequest, str] | None]:
        _, asked, _, _, equal, _ = yield from self._equal(of)
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
                for session_id, _ in _secrets_of(row):
                    yield from self._service.end(session_id)
                return
            _reject_state(row.state)

    def status(self, id: str, owner: str) -> Flow[str]:
        return (yield from self.progress(id, owner)).status

    def progress(self, id: str, owner: str) -> Flow[Progress]:
        row = yield from self._find(id, owner)
        needed = row.members.get("quorum", {}).get("needed", 1)
        if row.state != "waiting":
            return Progress(STARTED[row.state], 0 if row.state == "withdrawn" else needed, needed)
        try:
            sessions = yield from self._read(row)
        except BondedError as error:
            if error.code == "not_found":
                return Progress("expired", 0, needed)
            raise
        reasons, approved, doubtful = self._judge(row, sessions)
        ends = [one.get("ended_reason") or one.get("state") for one in sessions]
        waiting = ends.count("pending") + ends.count("step_up_required")
        found = {
            "reported": "user_unexpected" in ends,
            "declined": "user_declined" in ends,
            "executed": "completed" in ends,
            "approved": not reasons,
            "waiting": 0 < waiting >= needed - len(approved),
            "review": doubtful != [],
            "expired": "expired" in ends,
        }
        status = next((status for status, is_it in found.items() if is_it), "ended")
        notes = [one.get("decline_note") for one in sessions if status == "declined"]
        note = next((one for one in notes if isinstance(one, str)), None)
        return Progress(status, len(approved), needed, note)

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
            with contextlib.suppress(Exception):
                yield from self._move(row, "running", after)
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
            if not is_approval_id(row.id) or not self._purpose.items() <= row.members.items():
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
    ) -> Flow[tuple[dict[str, Any], str, str, str, list[StoredApproval], list[StoredApproval]]]:
        """What was asked, equal requests by any caller, and those that a process only began.

        The digests have nothing of the id of a quorum, or each repeated call would ask again.
        """
        approvers = _approvers_of(of, self._of.minimum)
        _, context = self._of.context_of(of.args, of.requester)
        digest: str = context["digest"]
        asked = binding_digest({"owner": of.owner, **approvers, "context": context})
        # An equal request to some of the people is one that they read about.
        refs = {one["ref"] for one in approvers.get("people", ())}
        whom = {"quorum": True} if refs else approvers
        lookup = binding_digest({**self._purpose, **whom, "digest": digest})
        stored: Sequence[StoredApproval] = yield Blocking(self._store.with_lookup, (lookup,))
        equal = [row for row in stored if is_approval_id(row.id)]
        if refs:
            equal = [row for row in equal if refs & {*row.members["quorum"]["refs"]}]
        has_session = {row.members["ask"] for row in equal} | self._asking
        begun = [one for one in stored if one.id.startswith(_BEGUN)]
        begun = [one for one in begun if one.members["asked"] == asked]
        begun = [one for one in begun if one.members["ask"] not in has_session]
        return approvers, asked, digest, lookup, equal, begun

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
        subject_ref = of.get("subject_ref")
        return UnknownOutcome(row.id, of["owner"], row.state, subject_ref, of["digest"], since)

    def _now(self) -> int:
        return int(self._service.now() * 1_000)

    def _renew(self, row: StoredApproval) -> None:
        self._store.move(row.id, "running", "running", self._now())

    def _move(self, row: StoredApproval, before: str, after: str) -> Flow[bool]:
        return bool((yield Blocking(self._store.move, (row.id, before, after, self._now()))))

    def _find(self, id: str, owner: str) -> Flow[StoredApproval]:
        row: StoredApproval | None = None
        if is_approval_id(id):
            row = yield Blocking(self._store.find, (id,))
        is_theirs = row is not None and is_owner(owner) and row.members["owner"] == owner
        if row is None or not is_theirs or not self._purpose.items() <= row.members.items():
            message = "The store has no such approval of this owner."
            raise ApprovalError("approval_unknown", message)
        return row

    def _read(self, row: StoredApproval) -> Flow[Sessions]:
        """The session of a row, or all those of its quorum, at one instant."""
        if "quorum" in row.members:
            return (yield from self._service.read_quorum(row.id))
        return [(yield from self._service.read(row.id))]

    def _judge(
        self, row: StoredApproval, sessions: Sessions
    ) -> tuple[list[str], list[str], list[str]]:
        """Why the action must not run, the sessions whose approval counts, and the doubtful ones."""
        data, rule = row.members, row.members.get("quorum")
        stored = {**data, "session_id": row.id, "context_digest": data["digest"]}
        facts = (data["owner"], self._policy, data["digest"])
        if rule is None and self._of.minimum is None:
            decision, reasons = judge_submit(sessions[0], stored, *facts)
            return reasons, [] if reasons else [row.id], [row.id] if decision == "review" else []
        # A row of one user is none of several, and the reverse: without a minimum, none is reached.
        stored["quorum"] = {**(rule or {"needed": 0, "of": 1, "refs": []}), "id": row.id}
        return judge_quorum(sessions, stored, *facts)

    def _verify(self, row: StoredApproval, context: dict[str, Any]) -> Flow[float]:
        """Until when the action may begin, by the clock of this process."""
        # Before the call, whose duration must not extend the time.
        started = self._service.now()
        sessions = yield from self._read(row)
        reasons, approved, _ = self._judge(row, sessions)
        # Not only the digest, but all that the user has read and signed.
        if "quorum" in row.members:
            rule = {**row.members["quorum"], "id": row.id}
            context |= {"quorum": {name: rule[name] for name in ("id", "needed", "of")}}
        shown = {canonical_json(one.get("context")) for one in sessions}
        if not reasons and shown != {canonical_json(context)}:
            reasons = ["context_mismatch"]
        if reasons:
            message = f"The user has not approved this: {', '.join(reasons)}."
            raise ApprovalError("not_approved", message, reasons)
        used = [one for one in sessions if one["id"] in approved]
        left = [time_of(one["expires_at"]) - time_of(one["server_time"]) for one in used]
        return started + min(*left, VERDICT_SECONDS)

    def _happened(self, row: StoredApproval) -> Flow[None]:
        """Stores that the action has happened, also after a look-up that has found nothing of it."""
        for before in ("running", "unknown", "failed"):
            if (yield from self._move(row, before, "done")):
                return (yield from self._complete(row))

    def _complete(self, row: StoredApproval) -> Flow[None]:
        """Shows each user who approved that the action is done, which ends what still waits.

        `reconcile` repeats it where the service failed.
        """
        digest, secrets, ends = row.members["digest"], _secrets_of(row), ["unreported"]
        try:
            if "quorum" in row.members:
                sessions = yield from self._read(row)
                bonded = [one["id"] for one in sessions if "reported_at" in one]
                doubtful = self._judge(row, sessions)[2]
                secrets = [one for one in secrets if one[0] in bonded and one[0] not in doubtful]
        except BondedError as error:
            # The service may still take a late report of each.
            if error.code not in ("not_found", "invalid_request"):
                return
        for session_id, secret in secrets:
            try:
                yield from self._service.complete(session_id, secret, digest)
                ends.append("completed")
            except BondedError as error:
                # With these, the service does not complete the session, now or later.
                if error.code not in ("not_found", "invalid_request"):
                    return
                ends.append("reported_late" if error.reported_at else "unreported")
        # In the order of the alphabet, the best one is the first.
        yield from self._move(row, "done", min(ends))
