"""Tools of FastMCP over HTTP, with the service of `fake_service.py`."""
import asyncio
import datetime
import json
import logging
import socket
import unittest
import uuid
from typing import Annotated, Literal

import bonded
import uvicorn
from bonded.fastmcp import Caller, Stdio, with_approval
from fake_service import Clock, FakeService, open_approvals
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.server.auth.providers.jwt import StaticTokenVerifier

SUBJECT = "sub_" + "s" * 22
ARGS = {"to": "DE02", "cents": 5}
TOKENS = {user: {"client_id": user, "scopes": []} for user in ("anna", "bob")}


def caller_of(token):
    kind = {"kind": "agent", "name": "Agent"}
    return Caller(owner=token.client_id, subject_ref=SUBJECT, requester=kind)


FIXED = Stdio(Caller("anna", SUBJECT, {"kind": "agent", "name": "Agent"}))


class Tools(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.service, self.ran = FakeService(Clock()), []
        self.store = bonded.MemoryApprovalStore()

    def approvals(self, name="transfer"):
        action = bonded.Action("w", name, "1", lambda args: [{"label": "To", "value": args["to"]}])
        return open_approvals("async", self.service, self.store, action)._approvals

    def server(self, caller, *, is_open=False):
        server = FastMCP("payments", auth=None if is_open else StaticTokenVerifier(TOKENS))

        @with_approval(server, self.approvals(), caller)
        async def transfer(
            to: str, cents: Annotated[int, "in euros"], approval_id: str
        ) -> dict[str, int]:
            """Transfers money."""
            self.ran.append(("transfer", to, cents, approval_id))
            return {"cents": cents}

        @with_approval(server, self.approvals("refund"), caller)
        def refund(to: str, cents: int, kind: Literal["all", "part"] | None = None) -> str:
            """Refunds money."""
            self.ran.append(("refund", to, cents, kind))
            return "refunded"

        return server

    async def serve(self, server):
        """Serves over HTTP. Returns what opens a client of a user."""
        sock = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(
            server.http_app(), log_level="critical", timeout_graceful_shutdown=1
        )
        http = uvicorn.Server(config)
        served = asyncio.create_task(http.serve(sockets=[sock]))

        async def stop():
            http.should_exit = True
            await served
            sock.close()

        self.addAsyncCleanup(stop)
        while not http.started:
            self.assertFalse(served.done())
            await asyncio.sleep(0)
        port = sock.getsockname()[1]
        url = f"http://127.0.0.1:{port}/mcp"
        return lambda user: Client(StreamableHttpTransport(url, auth=user))

    async def call(self, client, name="transfer", **args):
        result = await client.call_tool(name, args, raise_on_error=False)
        text = result.content[0].text
        return (json.loads(text) if text.startswith("{") else text), result.is_error

    async def test_asks_finds_the_request_again_and_runs_once_after_the_approval(self):
        open_client = await self.serve(self.server(caller_of))
        async with open_client("anna") as anna, open_client("bob") as bob:
            tools = {tool.name: tool for tool in await anna.list_tools()}
            self.assertEqual(set(tools), {"transfer", "refund", "get_approval"})
            shown = tools["transfer"].input_schema
            self.assertEqual(set(shown["properties"]), {"to", "cents", "approval_id"})
            self.assertEqual(shown["required"], ["to", "cents"])
            asked, is_error = await self.call(anna, **ARGS)
            (id,) = self.service.sessions
            self.assertEqual((asked["status"], asked["approval_id"]), ("approval_required", id))
            self.assertFalse(is_error)
            for given in ({}, {"approval_id": ""}, {"approval_id": "none"}, {"approval_id": None}):
                self.assertEqual((await self.call(anna, **ARGS, **given))[0], asked)
            early = await self.call(anna, **ARGS, approval_id=id)
            self.assertEqual((early[0]["status"], early[1]), ("not_approved", True))
            self.service.bond(id)
            found, _ = await self.call(anna, "get_approval", approval_id=id)
            self.assertEqual(found, {"status": "approved", "approval_id": id})
            # Neither another user, nor another tool, nor other arguments.
            for client, name, args, status in (
                (bob, "transfer", ARGS, "approval_unknown"),
                (bob, "get_approval", {}, "approval_unknown"),
                (anna, "refund", ARGS, "approval_unknown"),
                (anna, "transfer", {**ARGS, "cents": 6}, "not_approved"),
            ):
                refused, is_error = await self.call(client, name, **args, approval_id=id)
                self.assertEqual((refused["status"], is_error), (status, True))
            self.assertEqual((self.ran, len(self.service.sessions)), ([], 1))
            done, is_error = await self.call(anna, **ARGS, approval_id=id)
            self.assertEqual((done, is_error), ({"cents": 5}, False))
            again, _ = await self.call(anna, **ARGS, approval_id=id)
            self.assertEqual(again["status"], "already_executed")
            self.assertEqual(self.ran, [("transfer", "DE02", 5, id)])

    async def test_a_tool_without_async_runs_with_its_defaults_which_the_user_reads(self):
        open_client = await self.serve(self.server(caller_of))
        async with open_client("anna") as anna:
            await self.call(anna, "refund", **ARGS)
            (id,) = self.service.sessions
            text = self.service.sessions[id]["context"]["text"]
            self.assertEqual(json.loads(text), {**ARGS, "kind": None})
            self.service.bond(id)
            done = await self.call(anna, "refund", **ARGS, approval_id=id)
            self.assertEqual(done, ("refunded", False))
            self.assertEqual(self.ran, [("refund", "DE02", 5, None)])

    async def test_a_fixed_caller_is_refused_over_http_and_where_nothing_says_that_it_is_stdio(
        self,
    ):
        for server in (self.server(FIXED), self.server(FIXED, is_open=True)):
            open_client = await self.serve(server)
            async with open_client("anna") as client:
                refused, is_error = await self.call(client, **ARGS)
                self.assertEqual((refused["status"], is_error), ("invalid_configuration", True))
        async with Client(self.server(FIXED, is_open=True)) as client:
            refused, is_error = await self.call(client, **ARGS)
            self.assertEqual((refused["status"], is_error), ("invalid_configuration", True))
        self.assertEqual((self.ran, self.service.sessions), ([], {}))

    async def test_a_caller_without_a_verified_token_is_refused(self):
        open_client = await self.serve(self.server(caller_of, is_open=True))
        async with open_client("anna") as client:
            refused, is_error = await self.call(client, **ARGS)
            self.assertEqual((refused["status"], is_error), ("unauthorized", True))
        open_client = await self.serve(self.server(lambda token: None))
        async with open_client("anna") as client:
            refused, is_error = await self.call(client, **ARGS)
            self.assertEqual((refused["status"], is_error), ("unauthorized", True))
        self.assertEqual((self.ran, self.service.sessions), ([], {}))

    async def test_a_tool_that_raises_has_an_unknown_outcome_and_does_not_run_again(self):
        server = FastMCP("payments", auth=StaticTokenVerifier(TOKENS))

        @with_approval(server, self.approvals(), caller_of)
        def transfer(to: str, cents: int) -> str:
            self.ran.append(cents)
            raise OSError("the secret host")

        open_client = await self.serve(server)
        async with open_client("anna") as anna:
            asked, _ = await self.call(anna, **ARGS)
            self.service.bond(asked["approval_id"])
            for _ in range(2):
                failed, is_error = await self.call(anna, **ARGS, approval_id=asked["approval_id"])
                self.assertEqual((failed["status"], is_error), ("outcome_unknown", True))
                self.assertNotIn("host", json.dumps(failed))
            again, _ = await self.call(anna, **ARGS)
            self.assertEqual(again["status"], "outcome_unknown")
            self.assertEqual((self.ran, len(self.service.sessions)), ([5], 1))

    async def test_what_cannot_be_asked_or_waited_for_is_refused_when_it_is_registered(self):
        server, approvals = FastMCP("payments"), self.approvals()
        sync = bonded.Approvals(
            bonded.Bonded("https://bond.example", self.credential()), self.store, approvals.action
        )
        for given in ((sync, FIXED), (approvals, FIXED.caller), (approvals, None)):
            with self.assertRaises(bonded.BondedError):
                with_approval(server, *given)

        def dated(day: datetime.date):
            ...

        def keyed(key: dict[str, uuid.UUID]):
            ...

        def bare(to):
            ...

        def several(*to: str):
            ...

        for function in (dated, keyed, bare, several):
            with self.assertRaisesRegex(bonded.BondedError, function.__name__):
                with_approval(server, approvals, caller_of)(function)
        self.assertEqual(await server.list_tools(), [])

    def credential(self):
        from vectors import CREDENTIAL

        return CREDENTIAL


if __name__ == "__main__":
    unittest.main()
