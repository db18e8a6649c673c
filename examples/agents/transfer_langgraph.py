"""An agent of LangGraph, whose tool runs once when its user has approved the arguments."""
import os

from bonded import Action, Approvals, Bonded, SqliteApprovalStore
from bonded.langgraph import Caller, with_approval
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


def describe(args):
    return [{"label": "Amount", "value": f"€{args['cents'] / 100:.2f}"}]


client = Bonded(os.environ["BONDED_ORIGIN"], os.environ["BONDED_SERVER_CREDENTIAL"])
store = SqliteApprovalStore(os.environ.get("BONDED_STORE", "approvals.db"))
approvals = Approvals(client, store, Action("agent_payments", "transfer", "1", describe))


def caller(config):
    # Your server sets the signed-in user in the configuration of the run, never its client.
    return Caller(
        owner=config["configurable"]["user"],
        subject_ref=os.environ["BONDED_SUBJECT"],
        requester={"kind": "agent", "name": "Invoice agent"},
    )


@with_approval(approvals, caller)
def transfer(to: str, cents: int, approval_id: str) -> str:
    """Transfers money from the company account."""
    # Send the money here, under an id that your bank accepts once.
    return f"sent {cents} cents as {approval_id}"


def build_graph(model):
    bound = model.bind_tools([transfer])
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [bound.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([transfer]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    # In production, a checkpointer with a database: the user can answer after a restart.
    return graph.compile(checkpointer=InMemorySaver())
