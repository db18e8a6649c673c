"""The two clients: they perform the effects of the flows, and have no rules of their own."""
from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
import time
from typing import Any, Callable, Iterator, Mapping, TypeVar, cast

import httpx

from .approvals import (
    RENEWAL_SECONDS,
    Action,
    ApprovalFlows,
    ApprovalRequest,
    Decide,
    OpenedRequest,
    Progress,
    UnknownOutcome,
)
from .protocol import (
    MAX_ANSWER_BYTES,
    Answer,
    Blocking,
    Flow,
    NewSession,
    NoAnswer,
    Request,
    Service,
    Sleep,
)
from .stores import ApprovalStore

T = TypeVar("T")
Run = Callable[[dict[str, Any], str], Any]
Effect = Request | Sleep | Blocking


class Bonded(contextlib.AbstractContextManager["Bonded"]):
    """The calls of a backend. `base_url` is the origin of the service.

    Pass an `httpx.Client` as `http` for a proxy or certificates of your own. It must not follow
    redirects: the credential never goes to another host.
    """

    def __init__(
        self, base_url: str, server_credential: str, *, http: httpx.Client | None = None
    ) -> None:
        self.service = Service(base_url, server_credential)
        self._http = http or httpx.Client()

    def close(self) -> None:
        self._http.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def create(self, new: NewSession) -> dict[str, Any]:
        """Creates a session. Keep its completion_secret, and send the page all other members."""
        return self.run(self.service.create(new))

    def read(self, session_id: str, browser_secret: str | None = None) -> dict[str, Any]:
        """Reads a session. The service shows a proof of the browser only for the form's secret."""
        return self.run(self.service.read(session_id, browser_secret))

    def complete(
        self, session_id: str, completion_secret: str, digest: str, outcome: str = "accepted"
    ) -> None:
        """After the commit of the action. The user reads `outcome`: `accepted`, or `in_review`."""
        self.run(self.service.complete(session_id, completion_secret, digest, outcome))

    def run(self, flow: Flow[T]) -> T:
        """Performs the effects of a flow, and returns its result."""
        resume: Callable[[Any], Any] = flow.send
        given: object = None
        while True:
            try:
                effect = resume(given)
            except StopIteration as end:
                return cast(T, end.value)
            try:
                resume, given = flow.send, self._perform(effect)
            except BaseException as error:
                resume, given = flow.throw, error

    def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Request):
            return self._send(effect)
        if isinstance(effect, Sleep):
            return time.sleep(effect.seconds)
        with _leased(effect.renew):
            result = effect.call(*effect.arguments)
        if inspect.isawaitable(result):
            raise TypeError("a function with `async` needs AsyncApprovals: its end is not known")
        return result

    def _send(self, request: Request) -> Answer:
        deadline = time.monotonic() + request.timeout
        try:
            with self._http.stream(**vars(request)) as response:
                body = b""
                for chunk in response.iter_bytes():
                    body += chunk
                    _check(body, deadline)
                return _answer(response, body)
        except (httpx.HTTPError, OSError) as failure:
            raise NoAnswer(_describe(failure)) from failure


class AsyncBonded(contextlib.AbstractAsyncContextManager["AsyncBonded"]):
    """The same for `asyncio`. See `Bonded`."""

    def __init__(
        self, base_url: str, server_credential: str, *, http: httpx.AsyncClient | None = None
    ) -> None:
        self.service = Service(base_url, server_credential)
        self._http = http or httpx.AsyncClient()

    async def close(self) -> None:
        await self._http.aclose()

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def create(self, new: NewSession) -> dict[str, Any]:
        """See `Bonded.create`."""
        return await self.run(self.service.create(new))

    async def read(self, session_id: str, browser_secret: str | None = None) -> dict[str, Any]:
        """See `Bonded.read`."""
        return await self.run(self.service.read(session_id, browser_secret))

    async def complete(
        self, session_id: str, completion_secret: str, digest: str, outcome: str = "accepted"
    ) -> None:
        """See `Bonded.complete`."""
        await self.run(self.service.complete(session_id, completion_secret, digest, outcome))

    async def run(self, flow: Flow[T]) -> T:
        """Performs the effects of a flow, and returns its result."""
        resume: Callable[[Any], Any] = flow.send
        given: object = None
        while True:
            try:
                effect = resume(given)
            except StopIteration as end:
                return cast(T, end.value)
            try:
                resume, given = flow.send, await self._perform(effect)
            except BaseException as error:
                resume, given = flow.throw, error

    async def _perform(self, effect: Effect) -> Any:
        if isinstance(effect, Request):
            return await self._send(effect)
        if isinstance(effect, Sleep):
            return await asyncio.sleep(effect.seconds)
        with _leased(effect.renew):
            if inspect.iscoroutinefunction(effect.call):
                return await effect.call(*effect.arguments)
            result = await asyncio.to_thread(effect.call, *effect.arguments)
            return await result if inspect.isawaitable(result) else result

    async def _send(self, request: Request) -> Answer:
        deadline = time.monotonic() + request.timeout
        try:
            async with self._http.stream(**vars(request)) as response:
                body = b""
                async for chunk in response.aiter_bytes():
                    body += chunk
                    _check(body, deadline)
                return _answer(response, body)
        except (httpx.HTTPError, OSError) as failure:
            raise NoAnswer(_describe(failure)) from failure


class Approvals:
    """Approvals of one action, by users who are not in front of a page of yours.

    Threads may call every method at once.
    """

    def __init__(self, client: Bonded, store: ApprovalStore, action: Action) -> None:
        self.run, self.action = client.run, action
        self.flows = ApprovalFlows(client.service, store, action)

    def request(self, of: ApprovalRequest) -> OpenedRequest:
        """Asks the user. Raises the service's rejection, such as `inbox_full` or `inbox_paused`."""
        return self.run(self.flows.request(of))

    def latest(self, of: ApprovalRequest) -> tuple[OpenedRequest, str] | None:
        """The newest request of this owner, user and arguments, also if it has ended."""
        return self.run(self.flows.latest(of))

    def withdraw(self, id: str, owner: str) -> None:
        """Ends a request before its action runs. Repeat it after an error that is `retryable`."""
        self.run(self.flows.withdraw(id, owner))

    def status(self, id: str, owner: str) -> str:
        """The status at this moment. Raises `BondedError` while the service cannot be reached."""
        return self.run(self.flows.status(id, owner))

    def progress(self, id: str, owner: str) -> Progress:
        """The status with how many people have approved, and why one declined."""
        return self.run(self.flows.progress(id, owner))

    def wait(self, id: str, owner: str, timeout: float | None = None) -> str:
        """Returns when the user has answered, or no longer can.

        `approved`, `review`, `declined`, `reported`, `expired`, `executed`, `outcome_unknown`, or
        `ended`. Raises `TimeoutError` after so many seconds.
        """
        return self.run(self.flows.wait(id, owner, timeout))

    def execute(
        self, id: str, owner: str, args: Mapping[str, Any], run: Callable[[dict[str, Any], str], T]
    ) -> T:
        """Calls `run(approved, id)` if the user has approved these arguments, at most once.

        `approved` are the approved arguments, and by the id your other systems can recognize the
        action. Its end must be durable when `run` returns, so do not call this in a transaction.

        Raises `ApprovalError`: `not_approved`, and nothing ran; `outcome_unknown`, see `reconcile`.
        After `NotStarted`, the approval can be executed again.
        """
        if inspect.iscoroutinefunction(run):
            raise TypeError("a function with `async` needs AsyncApprovals")
        result: T = self.run(self.flows.execute(id, owner, args, run))
        return result

    def reconcile(self, decide: Decide | None = None) -> list[UnknownOutcome]:
        """Returns the actions whose outcome is unknown, but none that a process runs now.

        `decide` says which of them are `done` and which `failed`; None leaves one in the list. None
        runs again. Also repeats the completion of actions that are done, and deletes expired rows.
        Call it at the start and every minute.

        A process that stands still can go on later. So before `failed`, make sure that the action
        can never happen: write that it is void under its id where the action writes too, and let
        the action refuse to run then. Where you cannot, return None.
        """
        return self.run(self.flows.reconcile(decide))


class AsyncApprovals:
    """The same for `asyncio`. See `Approvals`. The store's calls run in a thread."""

    def __init__(self, client: AsyncBonded, store: ApprovalStore, action: Action) -> None:
        self.run, self.action = client.run, action
        self.flows = ApprovalFlows(client.service, store, action)

    async def request(self, of: ApprovalRequest) -> OpenedRequest:
        """See `Approvals.request`."""
        return await self.run(self.flows.request(of))

    async def latest(self, of: ApprovalRequest) -> tuple[OpenedRequest, str] | None:
        """See `Approvals.latest`."""
        return await self.run(self.flows.latest(of))

    async def withdraw(self, id: str, owner: str) -> None:
        """See `Approvals.withdraw`."""
        await self.run(self.flows.withdraw(id, owner))

    async def status(self, id: str, owner: str) -> str:
        """See `Approvals.status`."""
        return await self.run(self.flows.status(id, owner))

    async def progress(self, id: str, owner: str) -> Progress:
        """See `Approvals.progress`."""
        return await self.run(self.flows.progress(id, owner))

    async def wait(self, id: str, owner: str, timeout: float | None = None) -> str:
        """See `Approvals.wait`."""
        return await self.run(self.flows.wait(id, owner, timeout))

    async def execute(self, id: str, owner: str, args: Mapping[str, Any], run: Run) -> Any:
        """See `Approvals.execute`. A `run` without `async` runs in a thread."""
        return await self.run(self.flows.execute(id, owner, args, run))

    async def reconcile(self, decide: Decide | None = None) -> list[UnknownOutcome]:
        """See `Approvals.reconcile`."""
        return await self.run(self.flows.reconcile(decide))


@contextlib.contextmanager
def _leased(renew: Callable[[], object] | None) -> Iterator[None]:
    """Renews the lease, so that another process does not take this one for dead."""
    is_over = threading.Event()

    def repeat() -> None:
        while renew and not is_over.wait(RENEWAL_SECONDS):
            # After a failure, the next one renews.
            with contextlib.suppress(Exception):
                renew()

    if renew:
        threading.Thread(target=repeat, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


def _check(body: bytes, deadline: float) -> None:
    if len(body) > MAX_ANSWER_BYTES or time.monotonic() > deadline:
        raise NoAnswer("the answer is too long, or takes too long")


def _answer(response: httpx.Response, body: bytes) -> Answer:
    text = body.decode("utf-8", "replace")
    return Answer(response.status_code, response.headers.get("retry-after"), text)


def _describe(failure: BaseException | None) -> str:
    # In the words of the system: the text of httpx can have the address and password of a proxy.
    name, cause = type(failure).__name__, failure
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return f"{name}: {cause.strerror}"
        cause = cause.__cause__ or cause.__context__
    return name
