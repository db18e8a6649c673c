"""A scripted model in the graph of the example: it calls the tool, and repeats its result."""
import json
import pathlib
import sys

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.types import Command

example = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(example.parent))
build_graph = __import__(example.stem).build_graph


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self


ARGS = {"to": "DE02 1203 0000 0000 2020 51", "cents": 125_000, "owner": "eve"}
call = AIMessage("", tool_calls=[{"name": "transfer", "id": "call-1", "args": ARGS}])
graph = build_graph(Model(messages=iter([call, AIMessage("Done.")])))
config = {"configurable": {"thread_id": "1", "user": "user-1"}}
state = graph.invoke({"messages": [("user", "Pay the invoice.")]}, config)
print(json.dumps(state["__interrupt__"][0].value), flush=True)
# What anybody sends approves nothing.
state = graph.invoke(Command(resume={"status": "approved"}), config)
print(json.dumps(state["__interrupt__"][0].value), flush=True)
# The test answers on the phone.
sys.stdin.readline()
state = graph.invoke(Command(resume=True), config)
for message in state["messages"][2:]:
    print(message.content, flush=True)
