"""What a reader of an error, a phone and the service read: texts, headers, defaults and limits."""
import asyncio
import json
import unittest
from unittest import mock

import bonded
import httpx
from bonded import approvals, protocol
from fake_service import Clock, FakeService, open_approvals
from vectors import BASE_URL, CREDENTIAL

ID = "sess_" + "0" * 22
CREATED = {
    "id": ID,
    "completion_secret": "bcs_" + "c" * 43,
    "expires_at": "2026-11-21T09:35:00.000Z",
}
ASKED = {
    "owner": "login-1",
    "subject_ref": "s" * 43,
    "requester": {"kind": "agent", "name": "Agent", "detail": "No. 7"},
    "args": {"cents": 5},
}
PEOPLE = [{"person": name, "ref": f"ref-{name}"} for name in ("ann", "bob")]


class Texts(unittest.TestCase):
    def test_each_error_says_what_to_do(self):
        self.assertEqual(
            bonded.REMEDIES,
            {
                "service_unavailable": "Retry later. If it persists, check base_url, the network,"
                " and the status of the service.",
                "rate_limited": "Retry after `retry_after`. Limit how many sessions one visitor can"
                " create.",
                "unauthorized": "Set server_credential to a credential of this service that is not"
                " revoked.",
                "forbidden": "Enable the workflow and action for this credential, or let the"
                " operator resume the tenant.",
                "invalid_request": "Change the call: the message and `reason` name what is wrong.",
                "not_found": "Create a new session: this one was deleted, or belongs to another"
                " tenant.",
                "unexpected_answer": "Set base_url to the service itself: something else answered.",
                "invalid_configuration": "Change the option that the message names. No call was"
                " made.",
            },
        )
        self.assertEqual(
            bonded.APPROVAL_REMEDIES,
            {
                "approval_unknown": "Use the store, the id and the owner of the request.",
                "arguments_invalid": "Pass arguments that are a JSON object. The message names the"
                " member.",
                "text_too_long": "Request less at once: a person reads all of it before approving.",
                "not_approved": "Wait until the user approves, or make a new request. See"
                " `reasons`.",
                "outcome_unknown": "Find out whether the action happened, and pass the answer to"
                " `reconcile`.",
                "already_executed": "Make a new request: an approval runs one action.",
            },
        )
        for code in bonded.REMEDIES:
            error = bonded.BondedError(code, "Why.")
            self.assertEqual(error.remedy, bonded.REMEDIES[code])
            self.assertEqual(error.retryable, code in ("service_unavailable", "rate_limited"))

    def test_the_pair_of_a_repeated_request_counts_in_its_largest_unit(self):
        for seconds, ago in (
            (0, "less than a minute"),
            (59.9, "less than a minute"),
            (60, "1 minute"),
            (119, "1 minute"),
            (120, "2 minutes"),
            (3_599, "59 minutes"),
            (3_600, "1 hour"),
            (7_200, "2 hours"),
            (86_399, "23 hours"),
            (86_400, "1 day"),
            (172_800, "2 days"),
        ):
            for outcome, has in (("done", "was"), ("unknown", "may have been")):
                value = f"The same request {has} carried out {ago} before this one"
                found = approvals.describe_in_english(bonded.EarlierRequest(outcome, seconds))
                self.assertEqual(found, {"label": "Repeated", "value": value})

    def test_an_action_needs_its_names(self):
        names = {"workflow": "w", "action": "a", "version": "1"}
        for name in names:
            for wrong in ("", None):
                with self.assertRaises(ValueError) as raised:
                    bonded.Action(**{**names, name: wrong}, describe=lambda args: [])
                self.assertEqual(str(raised.exception), f"pass {name}: a text")


class Requests(unittest.TestCase):
    """What both clients send, and what they make of the answer."""

    def setUp(self):
        self.requests, self.answer = [], None
        for name in ("time.sleep", "asyncio.sleep"):
            stand_in = mock.patch(name, mock.AsyncMock() if "asyncio" in name else mock.Mock())
            stand_in.start()
            self.addCleanup(stand_in.stop)

    def handle(self, request):
        self.requests.append(request)
        return self.answer()

    def each(self, call):
        """The result of a call by each of the two clients, or its error."""
        transport = httpx.MockTransport(self.handle)

        def sync():
            with bonded.Bonded(
                BASE_URL, CREDENTIAL, http=httpx.Client(transport=transport)
            ) as client:
                return call(client)

        async def run():
            http = httpx.AsyncClient(transport=transport)
            async with bonded.AsyncBonded(BASE_URL, CREDENTIAL, http=http) as client:
                return await call(client)

        for each in (sync, lambda: asyncio.run(run())):
            self.requests = []
            try:
                yield each()
            except bonded.BondedError as error:
                yield error

    def test_every_call_names_the_types_that_it_sends_and_reads(self):
        new = bonded.NewSession(bonded.Policy("w", "a"), [], "d", None, phone_number="+49170")
        self.answer = lambda: httpx.Response(201, json=CREATED)
        for found in self.each(lambda client: client.create(new)):
            self.assertEqual(found, CREATED)
            [request] = self.requests
            self.assertEqual(request.headers["accept"], "application/json")
            self.assertEqual(request.headers["content-type"], "application/json")
            self.assertEqual(json.loads(request.content)["phone_number"], "+49170")
        self.answer = lambda: httpx.Response(200, json={"id": ID})
        for found in self.each(lambda client: client.read(ID)):
            self.assertEqual(found, {"id": ID})
            self.assertEqual(self.requests[0].headers["accept"], "application/json")
            self.assertNotIn("content-type", self.requests[0].headers)

    def test_a_completion_says_accepted_by_default(self):
        self.answer = lambda: httpx.Response(200, json={"ok": True})
        for found in self.each(lambda client: client.complete(ID, "bcs_x", "d" * 43)):
            self.assertIsNone(found)
            self.assertEqual(self.requests[0].headers["x-bond-outcome"], "accepted")

    def test_the_wait_that_the_service_wants_is_that_of_the_header(self):
        self.answer = lambda: httpx.Response(429, headers={"Retry-After": "9"}, json={})
        for error in self.each(lambda client: client.read(ID)):
            self.assertEqual((error.code, error.retry_after), ("rate_limited", 9.0))
            # Later than the user would wait at the form.
            self.assertEqual(len(self.requests), 1)

    def test_a_text_of_the_service_counts_up_to_512_characters(self):
        for length, expected in ((512, "x" * 512), (513, "The service answered 400.")):
            error = {"code": "invalid_request", "message": "x" * length}
            self.answer = lambda: httpx.Response(400, json={"error": error})
            for found in self.each(lambda client: client.read(ID)):
                self.assertEqual(found.args[0], expected)

    def test_an_answer_may_have_a_million_bytes_and_no_more(self):
        for length, text in (
            (1_000_000, "The service’s answer of 1000000 characters is not whole JSON."),
            (1_000_001, "did not answer: the answer is too long, or takes too long."),
        ):
            self.answer = lambda: httpx.Response(200, text="x" * length)
            with mock.patch("random.uniform", return_value=0.0):
                for found in self.each(lambda client: client.read(ID)):
                    self.assertEqual(found.code, "service_unavailable")
                    self.assertIn(text, str(found))

    def test_an_answer_that_arrives_after_its_time_is_none(self):
        self.answer = lambda: httpx.Response(200, json={"id": ID})
        for late, is_read in ((0.0, True), (3.5, False)):
            clock = iter([100.0, 100.0 + late] * 8)
            with mock.patch("bonded.client.time.monotonic", lambda clock=clock: next(clock)):
                with mock.patch("random.uniform", return_value=0.0):
                    with mock.patch.object(protocol, "ATTEMPTS", 1):
                        transport = httpx.MockTransport(self.handle)
                        http = httpx.Client(transport=transport)
                        client = bonded.Bonded(BASE_URL, CREDENTIAL, http=http)
                        client.service._elapsed = lambda: 0.0
                        try:
                            found = client.read(ID) == {"id": ID}
                        except bonded.BondedError as error:
                            found = "takes too long" not in str(error)
            self.assertEqual(found, is_read)

    def test_the_end_of_a_client_closes_its_connections(self):
        http = httpx.Client()
        with bonded.Bonded(BASE_URL, CREDENTIAL, http=http):
            self.assertFalse(http.is_closed)
        self.assertTrue(http.is_closed)

        async def run():
            http = httpx.AsyncClient()
            async with bonded.AsyncBonded(BASE_URL, CREDENTIAL, http=http):
                self.assertFalse(http.is_closed)
            self.assertTrue(http.is_closed)
            # Without a client of the caller's, it has one of its own.
            await bonded.AsyncBonded(BASE_URL, CREDENTIAL).close()

        asyncio.run(run())
        bonded.Bonded(BASE_URL, CREDENTIAL).close()

    def test_plain_http_is_for_this_machine_alone(self):
        for host in ("localhost", "127.0.0.1", "[::1]"):
            protocol.Service(f"http://{host}:8787", CREDENTIAL)
        for host in ("127.0.0.2", "localhost.example", "[::2]"):
            with self.assertRaises(bonded.BondedError) as raised:
                protocol.Service(f"http://{host}:8787", CREDENTIAL)
            self.assertEqual(
                str(raised.exception),
                "base_url must be https: the server credential and the verdicts travel over it.",
            )


class Refusals(unittest.TestCase):
    def setUp(self):
        self.service = FakeService(Clock())
        self.store = bonded.MemoryApprovalStore()

    def open(self, minimum=None, kind="sync"):
        pairs = [{"label": "Amount", "value": "€5"}]
        action = bonded.Action("w", "a", "1", lambda args: pairs, minimum=minimum)
        return open_approvals(kind, self.service, self.store, action)

    def told(self, call):
        with self.assertRaises((bonded.BondedError, bonded.ApprovalError)) as raised:
            call()
        return str(raised.exception)

    def test_each_refusal_of_an_approval_says_why(self):
        by = self.open()
        id = by.request(bonded.ApprovalRequest(**ASKED)).id
        execute = lambda: by.execute(id, "login-1", {"cents": 5}, lambda *_: "sent")  # noqa: E731
        self.assertEqual(
            self.told(execute), "The user has not approved this: session_not_bonded."
        )
        self.assertEqual(
            self.told(lambda: by.status(id, "login-2")),
            "The store has no such approval of this owner.",
        )
        self.service.bond(id)
        self.assertEqual(execute(), "sent")
        self.assertEqual(self.told(execute), "The approval was executed before.")
        for state, text in (
            ("running", "The action was started before, and its end is not known."),
            ("unknown", "The action was started before, and its end is not known."),
            ("withdrawn", "The request was withdrawn."),
        ):
            self.store._run("update approval set state = ?", (state,))
            self.assertEqual(self.told(execute), text)
        self.assertEqual(
            self.told(lambda: by.request(bonded.ApprovalRequest(**{**ASKED, "owner": " "}))),
            "owner must be a non-empty string.",
        )

    def test_each_refusal_of_people_says_why(self):
        given = {"subject_ref": None, "people": PEOPLE, "needed": 2, "maker": None}
        for minimum, change, text in (
            (None, {}, "people needs the minimum of the action."),
            (2, {"subject_ref": "s"}, "subject_ref must be None beside people."),
            (2, {"people": PEOPLE[:1]}, "people must be 2 to 10, each with a person and a ref."),
            (2, {"people": PEOPLE + PEOPLE[:1]}, "people repeat a person or a ref."),
            (2, {"maker": ...}, "maker must be stated: a person, or None."),
            (2, {"maker": "ann"}, "people have the maker among them."),
            (2, {"needed": 1}, "needed must be from the minimum to 5, not more than people."),
        ):
            of = bonded.ApprovalRequest(**{**ASKED, **given, **change})
            told = self.told(lambda of=of, minimum=minimum: self.open(minimum).request(of))
            self.assertEqual(told, f"{text} ({text.split()[0]})")
        ten = [{"person": f"p{n}", "ref": f"r{n}"} for n in range(10)]
        # Protocol 16: at most 5 must approve.
        many = bonded.ApprovalRequest(**{**ASKED, **given, "people": ten, "needed": 6})
        told = self.told(lambda: self.open(2).request(many))
        self.assertEqual(told.split(" must")[0], "needed")
        of = bonded.ApprovalRequest(**{**ASKED, **given, "people": ten, "needed": 5})
        self.assertEqual(len(self.service.quorums[self.open(5).request(of).id]), 10)

    def test_what_a_function_without_async_returns_is_awaited(self):
        by = self.open(kind="async")
        id = by.request(bonded.ApprovalRequest(**ASKED)).id
        self.service.bond(id)

        async def send():
            return "sent"

        run = lambda *_: send()  # noqa: E731
        self.assertEqual(by.execute(id, "login-1", {"cents": 5}, run), "sent")

    def test_the_phone_shows_the_requester_as_it_was_given(self):
        id = self.open().request(bonded.ApprovalRequest(**ASKED)).id
        self.assertEqual(self.service.sessions[id]["context"]["requester"], ASKED["requester"])


if __name__ == "__main__":
    unittest.main()
