"""Tools whose every call needs an approval, without I/O: what all frameworks have in common."""
from __future__ import annotations

import dataclasses
import inspect
import json
import logging
import types
import typing
from typing import Any, Callable, Iterable, Mapping

from .approvals import ApprovalRequest, Caller, OpenedRequest, Progress
from .canonical import canonical_json
from .client import Approvals, AsyncApprovals
from .errors import ApprovalError, BondedError, NotStarted
from .protocol import Blocking, Flow

APPROVAL_ID = "approval_id"
# With an unknown outcome, a further request could run the action twice.
_OPEN = ("waiting", "approved", "review", "outcome_unknown")
_JSON = (str, int, float, bool, list, dict, type(None), Any)
_COMPOSED = (list, dict, typing.Union, types.UnionType)


@dataclasses.dataclass(frozen=True)
class NotRun:
    """What the model gets from a call that did not run."""

    members: Mapping[str, Any]
    is_error: bool = False

    def __str__(self) -> str:
        return json.dumps(self.members)


class ApprovedTool:
    """A function, its parameters, and who calls it.

    A parameter `approval_id` of the function receives the id of the execution. The model does not
    name it. All others are JSON, because the function runs with what the user has read.

    `pause` waits for the answer, or raises `passed`. Without it, the model repeats the call.
    """

    def __init__(
        self,
        approvals: Approvals | AsyncApprovals,
        function: Callable[..., Any],
        identify: Callable[[], Any],
        pause: Callable[[Any], Any] | None = None,
        passed: type[BaseException] | tuple[()] = (),
    ) -> None:
        if inspect.iscoroutinefunction(function) and not isinstance(approvals, AsyncApprovals):
            raise TypeError("a function with `async` needs AsyncApprovals")
        self._flows, self._function, self._identify = approvals.flows, function, identify
        self._pause, self._passed = pause, passed
        self.name, self.description = approvals.action.action, inspect.getdoc(function) or ""
        hints = typing.get_type_hints(function, include_extras=True)
        parameters = dict(inspect.signature(function).parameters)
        self._takes_id = parameters.pop(APPROVAL_ID, None) is not None
        for name, one in parameters.items():
            is_named = one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
            if not is_named or not _is_json(hints.get(name)):
                message = f"{function.__name__}: annotate the parameter {name} with a type of JSON."
                raise BondedError("invalid_configuration", message)
            if one.default is not one.empty:
                canonical_json(one.default)
            parameters[name] = one.replace(kind=one.KEYWORD_ONLY, annotation=hints[name])
        self.signature = inspect.Signature(list(parameters.values()))

    def call(
        self, given: Mapping[str, Any], id: str | None = None, key: str | None = None
    ) -> Flow[Any]:
        """The result of the function if the user has approved the arguments, or a `NotRun`.

        Without an `id`, it asks the user, or finds the request that waits. `key` names this call,
        so that its repetition finds its request also when that has ended.
        """
        try:
            caller = yield from self._caller()
            bound = self.signature.bind(**given)
            bound.apply_defaults()
            args = bound.arguments
            if id is None:
                of = ApprovalRequest(**vars(caller), args=args, key=key)
                opened, status = yield from self._open(of)
                id, asked = opened.id, {APPROVAL_ID: opened.id, "inbox_url": opened.inbox_url}
                while self._pause is not None:
                    # What it returns is whatever somebody sent. Only the phone approves.
                    yield Blocking(self._pause, (_asked(status, asked),))
                    progress = yield from self._flows.progress(id, caller.owner)
                    status = progress.status
                    if status == "approved":
                        break
                    if status != "waiting":
                        return _told(progress, id)
                else:
                    return NotRun(_asked(status, asked))
            return (yield from self._flows.execute(id, caller.owner, args, self._run))
        except self._passed:
            raise
        except Exception as error:
            return self._refusal(error)

    def status(self, id: str) -> Flow[NotRun]:
        """The status of an approval of this tool. Runs nothing."""
        try:
            caller = yield from self._caller()
            return _told((yield from self._flows.progress(id, caller.owner)), id)
        except Exception as error:
            return self._refusal(error)

    def _caller(self) -> Flow[Caller]:
        caller = yield Blocking(self._identify)
        if not isinstance(caller, Caller):
            raise BondedError("unauthorized", "The caller of the tool is unknown.")
        return caller

    def _open(self, of: ApprovalRequest) -> Flow[tuple[OpenedRequest, str]]:
        """The request with these arguments that waits or can be executed, or a new one.

        Each key is the request before it, so that all processes find the same one.
        """
        latest = yield from self._flows.latest(of)
        if latest is not None and latest[1] in _OPEN:
            return latest
        key = of.key or (latest[0].id if latest else self.name)
        while True:
            opened = yield from self._flows.request(dataclasses.replace(of, key=key))
            status = yield from self._flows.status(opened.id, of.owner)
            if of.key is not None or status in _OPEN:
                return opened, status
            key = opened.id

    def _run(self, approved: dict[str, Any], id: str) -> Any:
        return self._function(**approved, **({APPROVAL_ID: id} if self._takes_id else {}))

    def _refusal(self, error: Exception) -> NotRun:
        """The agent gets the library's own errors. The details of all others are for your log."""
        members: dict[str, Any] = {"status": "internal_error"}
        if isinstance(error, ApprovalError):
            members = {"status": error.code, "message": str(error), "reasons": error.reasons}
        elif isinstance(error, NotStarted):
            members = {"status": "not_started", "message": str(error)}
        elif isinstance(error, BondedError):
            members = {"status": error.reason or error.code, "retry_after": error.retry_after}
        logging.getLogger("bonded").warning("%s did not run", self.name, exc_info=error)
        return NotRun(members, is_error=True)


def _told(progress: Progress, id: str) -> NotRun:
    """A note is data of a person, so it is in no text that a model reads but this JSON."""
    several = ("approved", "needed") if progress.needed > 1 else ()
    more = (*several, *(() if progress.note is None else ("note",)))
    members = {name: getattr(progress, name) for name in ("status", *more)}
    return NotRun({**members, APPROVAL_ID: id})


def _asked(status: str, request: Mapping[str, Any]) -> dict[str, Any]:
    return {"status": "approval_required" if status == "waiting" else status, **request}


def _is_json(kind: Any) -> bool:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _is_json(inner[0])
    if origin is typing.Literal:
        return all(type(one) in _JSON for one in inner)
    return kind in _JSON or (origin in _COMPOSED and all(map(_is_json, inner)))
