"""A scripted model that uses the server of the example."""
import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

ARGS = {"to": "DE02 1203 0000 0000 2020 51", "cents": 125_000}


async def main(server):
    transport = StdioTransport(sys.executable, ["-B", server], env=dict(os.environ))
    async with Client(transport) as client:

        async def call(name, **args):
            result = await client.call_tool(name, args, raise_on_error=False)
            print(result.content[0].text, flush=True)
            return result

        asked = await call("transfer", **ARGS)
        id = json.loads(asked.content[0].text)["approval_id"]
        # The test answers on the phone.
        await asyncio.to_thread(sys.stdin.readline)
        await call("get_approval", approval_id=id)
        await call("transfer", **{**ARGS, "cents": 1}, approval_id=id)
        await call("transfer", **ARGS, approval_id=id)
        await call("transfer", **ARGS, approval_id=id)


asyncio.run(main(sys.argv[1]))
