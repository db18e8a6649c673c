"""Tools of LangGraph, with the service of `fake_service.py`."""
import asyncio
import json
import unittest

import bonded
from bonded.langgraph import Caller, with_approval
from fake_service import Clock, FakeService, open_approvals
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send, interrupt

SUBJECT = "sub_" + "s" * 22
ARGS = {"to": "DE02", "cents": 5}


def caller(config):
    user = config["configurable"]["user"]
    return Caller(owner=user, subject_ref=SUBJECT, requester={"kind": "agent", "name": "Agent"})


def called(id, name="transfer", **args):
    return {"name": name, "id": id, "args": {**ARGS, **args}}


class Tools(unittest.TestCase):
    def setUp(self):
        self.service, self.ran = FakeService(Clock()), []
        self.store = bonded.MemoryApprovalStore()

    def tool(self, name="transfer", kind="sync"):
        approvals = open_approvals(
            kind,
            self.service,
            self.store,
            bonded.Action("w", name, "1", lambda args: [{"label": "To", "value": args["to"]}]),
        )

        if kind == "async":

            @with_approval(approvals._approvals, caller)
            async def sends(to: str, cents: int, approval_id: str, note: str = "-") -> str:
                """Transfers money."""
                self.ran.append((name, to, cents, note, approval_id))
                return f"sent {cents}"

            return sends

        @with_approval(approvals, caller)
        def transfer(to: str, cents: int, approval_id: str, note: str = "-") -> str:
            """Transfers money."""
            self.ran.append((name, to, cents, note, approval_id))
            return f"sent {cents}"

        return transfer

    def graph(self, calls, *tools, shared=False):
        """A model that makes these calls, and the results. Each call is a step of its own, or not."""
        node = ToolNode(list(tools))
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda _: {"messages": [AIMessage("", tool_calls=calls)]})
        graph.add_node("tools", node)
        graph.add_edge(START, "model")
        if shared:
            graph.add_edge("model", "tools")
        else:
            graph.add_conditional_edges(
                "model", lambda _: [Send("tools", [one | {"type": "tool_call"}]) for one in calls]
            )
        graph.add_edge("tools", END)
        return graph.compile(checkpointer=InMemorySaver())

    def results(self, state):
        return [one.content for one in state["messages"] if isinstance(one, ToolMessage)]

    def waiting(self, state):
        return [one.value["status"] for one in state.get("__interrupt__", [])]

    def config(self, user="anna", thread="1"):
        return {"configurable": {"thread_id": thread, "user": user}}

    def test_waits_by_an_interrupt_whose_answer_decides_nothing_and_runs_once(self):
        graph, config = self.graph([called("c1")], self.tool()), self.config()
        asked = graph.invoke({"messages": []}, config)
        self.assertEqual(self.waiting(asked), ["approval_required"])
        (id,) = self.service.sessions
        self.assertEqual(asked["__interrupt__"][0].value["approval_id"], id)
        shown = json.loads(self.service.sessions[id]["context"]["text"])
        self.assertEqual(shown, {**ARGS, "note": "-"})
        for answer in (True, "approved", {"status": "approved", "approval_id": id}):
            again = graph.invoke(Command(resume=answer), config)
            self.assertEqual(self.waiting(again), ["approval_required"])
        self.assertEqual((self.ran, len(self.service.sessions)), ([], 1))
        self.service.bond(id)
        done = graph.invoke(Command(resume=False), config)
        self.assertEqual(self.results(done), ["sent 5"])
        self.assertEqual(self.ran, [("transfer", "DE02", 5, "-", id)])

    def test_an_async_tool_does_the_same(self):
        async def run():
            graph, config = self.graph([called("c1")], self.tool(kind="async")), self.config()
            asked = await graph.ainvoke({"messages": []}, config)
            self.assertEqual(self.waiting(asked), ["approval_required"])
            (id,) = self.service.sessions
            self.service.bond(id)
            done = await graph.ainvoke(Command(resume=True), config)
            self.assertEqual(self.results(done), ["sent 5"])
            self.assertEqual(self.ran, [("transfer", "DE02", 5, "-", id)])

        asyncio.run(run())

    def test_an_approval_of_one_tool_or_of_other_arguments_runs_no_other(self):
        calls = [called("c1"), called("c2", "refund"), called("c3", cents=6)]
        graph, config = self.graph(calls, self.tool(), self.tool("refund")), self.config()
        asked = graph.invoke({"messages": []}, config)
        of = {one["action"]: one["id"] for one in self.service.sessions.values()}
        self.assertEqual(len(self.service.sessions), 3)
        self.service.bond(of["refund"])
        for _ in range(2):
            every = {one.id: True for one in asked["__interrupt__"]}
            asked = graph.invoke(Command(resume=every), config)
        self.assertEqual(self.ran, [("refund", "DE02", 5, "-", of["refund"])])
        self.assertEqual(self.waiting(asked), ["approval_required"] * 2)

    def test_a_step_of_several_calls_that_begins_again_runs_none_twice(self):
        calls = [called("c1"), called("c2", "refund"), called("c3", cents=6)]
        graph = self.graph(calls, self.tool(), self.tool("refund"), shared=True)
        config = self.config()
        graph.invoke({"messages": []}, config)
        while waiting := graph.get_state(config).interrupts:
            pending = [id for id, one in self.service.sessions.items() if one["state"] == "pending"]
            for id in pending[:1]:
                self.service.bond(id)
            graph.invoke(Command(resume={one.id: True for one in waiting}), config)
        ran = [("refund", "DE02", 5), ("transfer", "DE02", 5), ("transfer", "DE02", 6)]
        self.assertEqual(sorted(one[:3] for one in self.ran), ran)
        self.assertEqual(len(self.service.sessions), 3)

    def test_the_answer_to_it_is_not_the_answer_to_another_interrupt(self):
        from langchain_core.tools import tool

        @tool
        def ask(to: str, cents: int) -> str:
            """Asks."""
            return f"answered {interrupt('Which?')}"

        graph, config = (
            self.graph([called("c1"), called("c2", "ask")], self.tool(), ask),
            self.config(),
        )
        asked = graph.invoke({"messages": []}, config)
        ours, theirs = sorted(asked["__interrupt__"], key=lambda one: one.value == "Which?")
        self.service.bond(next(iter(self.service.sessions)))
        graph.invoke(Command(resume={ours.id: "ours"}), config)
        done = graph.invoke(Command(resume={theirs.id: "theirs"}), config)
        self.assertEqual(sorted(self.results(done)), ["answered theirs", "sent 5"])
        self.assertEqual(len(self.ran), 1)

    def test_a_retry_with_the_same_arguments_finds_the_request_and_a_second_call_asks_anew(self):
        tool = self.tool()
        self.graph([called("c1")], tool).invoke({"messages": []}, self.config())
        graph, config = self.graph([called("c2")], tool), self.config(thread="2")
        graph.invoke({"messages": []}, config)
        (id,) = self.service.sessions
        self.service.bond(id)
        self.assertEqual(self.results(graph.invoke(Command(resume=True), config)), ["sent 5"])
        graph, config = self.graph([called("c3")], tool), self.config(thread="3")
        self.assertEqual(
            self.waiting(graph.invoke({"messages": []}, config)), ["approval_required"]
        )
        self.assertEqual((len(self.service.sessions), len(self.ran)), (2, 1))
        repeated = list(self.service.sessions.values())[1]["context"]["display"][0]
        self.assertEqual(repeated["label"], "Repeated")

    def test_a_declined_call_tells_the_model_and_asks_no_more(self):
        graph, config = self.graph([called("c1")], self.tool()), self.config()
        graph.invoke({"messages": []}, config)
        (id,) = self.service.sessions
        self.service.sessions[id].update(state="killed", ended_reason="user_declined")
        (result,) = self.results(graph.invoke(Command(resume=True), config))
        self.assertEqual(json.loads(result), {"status": "declined", "approval_id": id})
        self.assertEqual((self.ran, len(self.service.sessions)), ([], 1))

    def test_the_caller_is_of_the_configuration_and_an_unknown_one_is_refused(self):
        tool = self.tool()
        given = called("c1", user="eve", owner="eve", config={"configurable": {"user": "eve"}})
        self.graph([given], tool).invoke({"messages": []}, self.config())
        (id,) = self.service.sessions
        self.assertEqual(json.loads(self.store.find(id).data)["owner"], "anna")
        with self.assertLogs("bonded", "WARNING"):
            config = {"configurable": {"thread_id": "2"}}
            done = self.graph([called("c1")], tool).invoke({"messages": []}, config)
        self.assertEqual(
            [json.loads(one)["status"] for one in self.results(done)], ["internal_error"]
        )
        self.assertEqual((self.ran, len(self.service.sessions)), ([], 1))


if __name__ == "__main__":
    unittest.main()
