"""What a model does with the tool of transfer_langgraph.py. A scripted one calls it once."""
import sys

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.types import Command
from transfer_langgraph import approvals, build_graph


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self


ARGS = {"to": "DE02 1203 0000 0000 2020 51", "cents": 125_000}
call = AIMessage("", tool_calls=[{"name": "transfer", "id": "call-1", "args": ARGS}])
graph = build_graph(Model(messages=iter([call, AIMessage("Done.")])))
config = {"configurable": {"thread_id": "1", "user": "user-1"}}
state = graph.invoke({"messages": [("user", "Pay the invoice.")]}, config)
asked = state["__interrupt__"][0].value
print(f"The tool waits for an approval: {asked['inbox_url']}", file=sys.stderr, flush=True)
status = approvals.wait(asked["approval_id"], "user-1")
state = graph.invoke(Command(resume=True), config)
print(state["messages"][-2].content)
sys.exit(status != "approved")
