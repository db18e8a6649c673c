"""The checks of a backend before it acts: pure functions of what was read and stored."""
from __future__ import annotations

import dataclasses
import datetime
import math
import re
from typing import Any, Iterator, Mapping, Sequence

MIN_CONFIDENCE = 0.55
MIN_CONTINUITY = 0.6

Verdict = tuple[str, list[str]]
Members = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Policy:
    """What your backend requires of a bond. Repeat what the policy of the workflow requires.

    The service enforces that too, but only this check notices a workflow that was weakened there.
    """

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
    # For `judge_quorum`: how many people must approve at least, 2 to 5.
    minimum: int | None = None

    def __post_init__(self) -> None:
        require(workflow=self.workflow, action=self.action)
        if self.minimum not in (None, 2, 3, 4, 5):
            raise ValueError("minimum must be from 2 to 5")
        origin = self.browser_origin
        if origin is not None and not re.fullmatch(r"https?://[a-z0-9.:\[\]-]+", origin):
            raise ValueError("browser_origin must be an origin, such as https://www.bank.example")

    @property
    def needs_user(self) -> bool:
        return self.browser_origin is not None and not self.first_bond


def require(**texts: object) -> None:
    """A variable that is not set would otherwise be noticed only in front of a user."""
    for name, value in texts.items():
        if not isinstance(value, str) or value == "":
            raise ValueError(f"pass {name}: a text")


def is_owner(owner: object) -> bool:
    """Two missing owners are not the same owner."""
    return isinstance(owner, str) and owner.strip() != ""


def judge_submit(
    session: Members, row: Members | None, owner: str | None, policy: Policy, digest: str | None
) -> Verdict:
    """The checks of a protected submit, in the order of the contract: (decision, reasons).

    `session` is the answer to `read`, `row` your own row of the session, and `digest` the
    `binding_digest` of the form as it was submitted. After `accept`, act and then complete.
    """
    rejections = _rejections(session, row, owner, policy, digest) if row else ["session_not_ours"]
    for reason in rejections:
        return "reject", [reason]
    doubts = _doubts(session["verification"])
    return ("review", doubts) if doubts else ("accept", [])


def judge_quorum(
    sessions: Sequence[Members], row: Members, owner: str | None, policy: Policy, digest: str | None
) -> tuple[list[str], list[str], list[str]]:
    """Whether enough people have approved (protocol 16): why not, the ids that count, and doubtful.

    `sessions` are all of the answer to `read_quorum`. `row` is your own row, with `quorum` as
    `{id, needed, of, refs}`. If the first list is empty, act, and complete what counts.
    """
    rule, refs, decided = row["quorum"], row["quorum"]["refs"], dict[Any, str]()
    for one in sessions:
        # The verdict on each approval as if it were alone, by any user.
        alone = {**one, "context": {**(one.get("context") or {}), "quorum": None}}
        stored = {**row, "session_id": one.get("id"), "subject_ref": one.get("subject_ref")}
        decided[one.get("id")] = judge_submit(alone, stored, owner, policy, digest)[0]
    doubtful = [id for id, decision in decided.items() if decision == "review"]
    if not len(decided) == len(sessions) == rule["of"]:
        return ["quorum_unavailable"], [], doubtful
    shown = {name: rule[name] for name in ("id", "needed", "of")}
    is_shown = all(_member(one, "context", "quorum") == shown for one in sessions)
    is_rule = rule["needed"] >= (policy.minimum or math.inf)
    if not (is_shown and is_rule and len(set(refs)) == len(refs) == rule["of"]):
        return ["quorum_mismatch"], [], doubtful
    if any(one.get("ended_reason") in ("user_declined", "user_unexpected") for one in sessions):
        return ["declined"], [], doubtful
    approved = [id for id, decision in decided.items() if decision == "accept"]
    users = [one.get("subject_ref") for one in sessions if one["id"] in approved]
    if not set(users) <= set(refs) or len(set(users)) < len(users):
        return ["quorum_mismatch"], [], doubtful
    return [] if len(approved) >= rule["needed"] else ["too_few_approvals"], approved, doubtful


def _rejections(
    session: Members, row: Members, owner: str | None, policy: Policy, digest: str | None
) -> Iterator[str]:
    """The reasons of all checks that fail, in the order of the contract."""
    if policy.needs_user and row["subject_ref"] is None:
        yield "subject_mismatch"
    if session.get("id") != row["session_id"]:
        yield "session_unavailable"
    if session.get("state") != "bonded":
        is_suspended = session.get("ended_reason") == "tenant_suspended"
        yield "tenant_suspended" if is_suspended else "session_not_bonded"
    if policy.tenant_id is not None and session.get("tenant_id") != policy.tenant_id:
        yield "tenant_mismatch"
    if session.get("workflow") != policy.workflow:
        yield "workflow_mismatch"
    if session.get("action") != policy.action:
        yield "action_mismatch"
    # By the service's own clock: a wrong one here neither ends a bond early nor prolongs it.
    if not time_of(session.get("expires_at")) > time_of(session.get("server_time")):
        yield "session_expired"
    is_ours = is_owner(owner) and row["owner"] == owner
    if not is_ours or (row["workflow"], row["action"]) != (policy.workflow, policy.action):
        yield "session_not_ours"
    # One approval of several is none alone.
    if _member(session, "context", "quorum") is not None:
        yield "one_of_several"
    verification = session.get("verification")
    if not isinstance(verification, dict):
        yield "verification_missing"
        return
    if verification.get("device_possession") is not True:
        yield "device_not_possessed"
    if verification.get("local_auth") != "verified":
        yield "local_auth_not_verified"
    if policy.passport_required and _member(verification, "passport", "tier") != "chip":
        yield "passport_chip_missing"
    approved = _member(session, "context", "digest")
    if not digest or not approved:
        yield "context_missing"
    if not digest == approved == row["context_digest"]:
        yield "context_mismatch"
    if row["subject_ref"] is not None and session.get("subject_ref") != row["subject_ref"]:
        yield "subject_mismatch"
    # A proof that the policy does not expect passes nowhere: any origin would do.
    expects, proved = policy.browser_origin is not None, verification.get("browser") is not None
    origin = _member(verification, "browser", "origin")
    if (expects or proved) and (not expects or origin != policy.browser_origin):
        yield "browser_not_proved"


def _doubts(verification: Mapping[str, Any]) -> list[str]:
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


def _member(value: Mapping[str, Any], outer: str, inner: str) -> Any:
    """A member of an optional object. None if one of them is missing."""
    found = value.get(outer)
    return found.get(inner) if isinstance(found, dict) else None


def _at_least(score: Any, minimum: float) -> bool:
    """A score must be a number: True and "0.9" are none."""
    return type(score) in (int, float) and score >= minimum


def time_of(text: Any) -> float:
    """Seconds since the epoch. A text that is no time is later than nothing."""
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except (AttributeError, ValueError):
        return math.nan
