"""Tools of LangGraph that run only what their user has approved.

Tested with langgraph 1.2.
"""
from __future__ import annotations

from typing import Annotated, Any, Callable, Mapping

import pydantic
from langchain_core.tools import InjectedToolCallId, StructuredTool
from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp
from langgraph.types import interrupt

from .approvals import Caller as Caller
from .client import Approvals, AsyncApprovals
from .errors import BondedError
from .tools import ApprovedTool, NotRun


def with_approval(
    approvals: Approvals | AsyncApprovals, caller: Callable[[Mapping[str, Any]], Any]
) -> Callable[[Callable[..., Any]], StructuredTool]:
    """Makes a tool of a function, whose name is the action of the approvals.

    A call interrupts the graph with `approval_required`. Resume it with any value when the user has
    answered: the value decides nothing. `caller` is a function of the configuration of the run. Take
    from there only what your server has set, such as its signed-in user.

    The graph needs a checkpointer. With `Approvals`, invoke it without `async`; with
    `AsyncApprovals`, with it, from Python 3.11.
    """
    if not callable(caller):
        message = "caller must be a function of the configuration of the run."
        raise BondedError("invalid_configuration", message)

    def decorate(function: Callable[..., Any]) -> StructuredTool:
        tool = ApprovedTool(
            approvals, function, lambda: caller(get_config()), interrupt, GraphBubbleUp
        )

        def start(tool_call_id: str, given: Mapping[str, Any]) -> Any:
            # A graph runs a step again from its start: the same call must find the same request.
            thread = get_config()["configurable"].get("thread_id")
            return approvals.run(tool.call(given, key=f"{thread}/{tool_call_id}"))

        def call(tool_call_id: str, **given: Any) -> Any:
            return _answer(start(tool_call_id, given))

        async def call_async(tool_call_id: str, **given: Any) -> Any:
            return _answer(await start(tool_call_id, given))

        fields: dict[str, Any] = {
            one.name: (one.annotation, ... if one.default is one.empty else one.default)
            for one in tool.signature.parameters.values()
        }
        fields["tool_call_id"] = (Annotated[str, InjectedToolCallId], ...)
        is_async = isinstance(approvals, AsyncApprovals)
        return StructuredTool(
            name=tool.name,
            description=tool.description,
            args_schema=pydantic.create_model(tool.name, **fields),
            **({"coroutine": call_async} if is_async else {"func": call}),
        )

    return decorate


def _answer(found: Any) -> Any:
    return str(found) if isinstance(found, NotRun) else found
