"""A server of MCP over stdio, whose tool runs once when its user has approved the arguments."""
import os

from bonded import Action, AsyncApprovals, AsyncBonded, SqliteApprovalStore
from bonded.fastmcp import Caller, Stdio, with_approval
from fastmcp import FastMCP


def describe(args):
    return [{"label": "Amount", "value": f"€{args['cents'] / 100:.2f}"}]


client = AsyncBonded(os.environ["BONDED_ORIGIN"], os.environ["BONDED_SERVER_CREDENTIAL"])
store = SqliteApprovalStore(os.environ.get("BONDED_STORE", "approvals.db"))
approvals = AsyncApprovals(client, store, Action("agent_payments", "transfer", "1", describe))
server = FastMCP("payments")
# Over HTTP, pass a function of the access token, which finds the user in your data.
caller = Caller(
    owner="agent-1",
    subject_ref=os.environ["BONDED_SUBJECT"],
    requester={"kind": "agent", "name": "Invoice agent"},
)


@with_approval(server, approvals, Stdio(caller))
def transfer(to: str, cents: int, approval_id: str) -> str:
    """Transfers money from the company account."""
    # Send the money here, under an id that your bank accepts once.
    return f"sent {cents} cents as {approval_id}"


if __name__ == "__main__":
    server.run(show_banner=False)
