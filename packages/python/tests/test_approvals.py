"""Approvals: what is approved runs once, and nothing else runs."""
import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import bonded
from bonded import stores
from fake_service import Clock, FakeService, open_approvals

ARGS = {"to": "DE02 1203 0000 0000 2020 51", "cents": 125_000}
ASKED = {
    "owner": "login-1",
    "subject_ref": "s" * 43,
    "requester": {"kind": "agent", "name": "Invoice agent"},
    "args": ARGS,
}
OWNER = "login-1"


def asked(**change):
    return bonded.ApprovalRequest(**{**ASKED, **change})


def describe(args):
    return [
        {"label": "Amount", "value": f"€{args['cents'] / 100:.2f}"},
        {"label": "To", "value": args["to"]},
    ]


ACTION = bonded.Action("agent_payments", "transfer", "1", describe)


class Scenarios:
    """Run once with each client."""

    kind = "sync"

    def setUp(self):
        self.clock = Clock()
        self.service = FakeService(self.clock)
        self.store = stores.MemoryApprovalStore()
        self.approvals = self.open()
        self.runs = []
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        stack.enter_context(mock.patch("time.sleep", self.clock.sleep))

        async def sleep(seconds):
            self.clock.sleep(seconds)

        stack.enter_context(mock.patch("asyncio.sleep", sleep))
        stack.enter_context(mock.patch("random.uniform", return_value=0.0))

    def open(self, action=ACTION):
        return open_approvals(self.kind, self.service, self.store, action)

    def run_it(self, args, id):
        self.runs.append((args, id))
        return "sent"

    def approved(self, **change):
        opened = self.approvals.request(asked(**change))
        self.service.bond(opened.id)
        return opened.id

    def assert_code(self, code, call, *arguments):
        with self.assertRaises(bonded.ApprovalError) as raised:
            call(*arguments)
        self.assertEqual(raised.exception.code, code)
        return raised.exception

    def execute(self, id, args=ARGS, run=None, owner=OWNER):
        return self.approvals.execute(id, owner, args, run or self.run_it)

    def test_runs_once_what_the_user_has_approved_and_completes_it(self):
        opened = self.approvals.request(asked())
        self.assertEqual(opened.inbox_url, "https://bonded.test/inbox")
        self.assertEqual(opened.expires_in, 3_600)
        self.assertEqual(self.approvals.status(opened.id, OWNER), "waiting")
        context = self.service.sessions[opened.id]["context"]
        self.assertEqual(context["display"][0], {"label": "Amount", "value": "€1250.00"})
        self.assertEqual(
            context["text"], '{\n  "cents": 125000,\n  "to": "DE02 1203 0000 0000 2020 51"\n}'
        )
        self.service.bond(opened.id)
        self.assertEqual(self.approvals.wait(opened.id, OWNER), "approved")
        self.assertEqual(self.execute(opened.id), "sent")
        self.assertEqual(self.runs, [(ARGS, opened.id)])
        self.assertEqual(self.service.completed, [opened.id])
        self.assertEqual(self.approvals.status(opened.id, OWNER), "executed")
        self.assert_code("already_executed", self.execute, opened.id)
        self.assertEqual(len(self.runs), 1)

    def test_runs_nothing_but_what_was_approved(self):
        id = self.approved()
        error = self.assert_code("not_approved", self.execute, id, {**ARGS, "cents": 125_001})
        self.assertEqual(error.reasons, ["context_mismatch"])
        self.service.sessions[id]["context"]["text"] = "{}"
        self.assert_code("not_approved", self.execute, id)
        self.assertEqual(self.runs, [])
        other = self.open(bonded.Action("agent_payments", "transfer", "2", describe))
        self.assert_code("not_approved", other.execute, self.approved(), OWNER, ARGS, self.run_it)

    def test_runs_nothing_before_the_approval_after_a_decline_and_on_a_doubt(self):
        id = self.approvals.request(asked()).id
        self.assert_code("not_approved", self.execute, id)
        self.service.bond(id, human_presence_confidence=0.2, assertion_confidence=0.2)
        self.assertEqual(self.approvals.status(id, OWNER), "review")
        self.assertEqual(
            self.assert_code("not_approved", self.execute, id).reasons, ["low_confidence"]
        )
        for reason, status in (("user_declined", "declined"), ("user_unexpected", "reported")):
            self.service.sessions[id].update(state="killed", ended_reason=reason)
            self.assertEqual(self.approvals.wait(id, OWNER), status)
            self.assert_code("not_approved", self.execute, id)
        self.assertEqual(self.runs, [])

    def test_knows_the_approval_for_its_owner_alone(self):
        id = self.approved()
        for owner in ("login-2", "", None):
            self.assert_code("approval_unknown", self.execute, id, ARGS, None, owner)
            self.assert_code("approval_unknown", self.approvals.status, id, owner)
        self.assert_code("approval_unknown", self.approvals.status, None, OWNER)
        other = self.open(bonded.Action("agent_payments", "other", "1", describe))
        self.assert_code("approval_unknown", other.status, id, OWNER)

    def test_never_runs_again_after_an_error_and_takes_the_answer_of_the_look_up(self):
        def fail(args, id):
            self.runs.append(args)
            raise OSError("the connection was reset")

        for answer, status in (
            ("done", "executed"),
            ("failed", "ended"),
            (None, "outcome_unknown"),
        ):
            id = self.approved(key=str(answer))
            error = self.assert_code("outcome_unknown", self.execute, id, ARGS, fail)
            self.assertIsInstance(error.__cause__, OSError)
            self.assert_code("outcome_unknown", self.execute, id)
            seen = []
            left = self.approvals.reconcile(lambda one: (seen.append(one.id), answer)[1])
            self.assertEqual(seen, [id])
            self.assertEqual([one.id for one in left], [] if answer else [id])
            self.assertEqual(self.approvals.status(id, OWNER), status)
            with self.assertRaises(bonded.ApprovalError):
                self.execute(id)
        self.assertEqual(len(self.runs), 3)

    def test_executes_again_what_was_not_started(self):
        def refuse(args, id):
            raise bonded.NotStarted("the bank is closed")

        id = self.approved()
        with self.assertRaises(bonded.NotStarted):
            self.execute(id, run=refuse)
        self.assertEqual(self.approvals.status(id, OWNER), "approved")
        self.assertEqual(self.execute(id), "sent")

    def test_does_not_begin_with_a_verdict_that_is_too_old(self):
        id = self.approved()
        move = self.store.move

        def slow(*arguments):
            self.clock.sleep(31)
            return move(*arguments)

        with mock.patch.object(self.store, "move", slow), self.assertRaises(bonded.NotStarted):
            self.execute(id)
        self.assertEqual(self.runs, [])

    def test_offers_a_running_action_only_after_its_lease(self):
        id = self.approved()
        self.store.move(id, "waiting", "running", int(self.clock.now() * 1_000))
        self.assertEqual(self.approvals.reconcile(), [])
        self.clock.sleep(59)
        self.assertEqual(self.approvals.reconcile(), [])
        self.clock.sleep(1)
        self.assertEqual([one.state for one in self.approvals.reconcile()], ["running"])

    def test_stores_running_before_the_action_and_renews_its_lease(self):
        id = self.approved()
        renewed = threading.Event()

        def run(args, id):
            self.assertEqual(self.store.find(id).state, "running")
            self.clock.sleep(40)
            # The second one begins after the clock was moved.
            for _ in range(2):
                renewed.clear()
                self.assertTrue(renewed.wait(30))
            return self.store.find(id).changed_at

        began = int(self.clock.now() * 1_000)
        move = self.store.move

        def moved(*arguments):
            result = move(*arguments)
            if arguments[1:3] == ("running", "running"):
                renewed.set()
            return result

        with mock.patch.object(self.store, "move", moved), mock.patch(
            "bonded.client.RENEWAL_SECONDS", 0.001
        ):
            self.assertGreaterEqual(self.execute(id, run=run), began + 40_000)

    def test_says_that_an_equal_request_was_carried_out(self):
        self.execute(self.approved())
        self.clock.sleep(7_200)
        context = self.service.sessions[self.approved()]["context"]
        self.assertEqual(
            context["display"][0],
            {
                "label": "Repeated",
                "value": "The same request was carried out 2 hours before this one",
            },
        )

    def test_returns_the_same_approval_for_the_same_key_and_arguments(self):
        first = self.approvals.request(asked(key="k"))
        self.assertEqual(self.approvals.request(asked(key="k")).id, first.id)
        other = self.approvals.request(asked(args={**ARGS, "cents": 1}, key="k"))
        self.assertNotEqual(other.id, first.id)
        self.assertNotEqual(self.approvals.request(asked()).id, first.id)
        self.assertEqual(self.approvals.latest(asked(owner="x")), None)
        latest, status = self.approvals.latest(asked(args={**ARGS, "cents": 1}))
        self.assertEqual((latest.id, status), (other.id, "waiting"))

    def test_continues_a_request_whose_answer_was_lost(self):
        put = self.store.put

        def fail(row):
            if row.id.startswith("sess_"):
                raise OSError("the disk is full")
            put(row)

        with mock.patch.object(self.store, "put", fail), self.assertRaises(OSError):
            self.approvals.request(asked())
        self.assertEqual(len(self.service.sessions), 1)
        # Another process of the same store.
        self.assertIn(self.open().request(asked()).id, self.service.sessions)
        self.assertEqual(len(self.service.sessions), 1)

    def test_forgets_a_request_that_the_service_rejected(self):
        error = {"code": "conflict", "message": "No.", "reason": "inbox_paused"}
        self.service.failing = [("POST", 409, error)]
        with self.assertRaises(bonded.BondedError) as raised:
            self.approvals.request(asked())
        self.assertEqual(raised.exception.reason, "inbox_paused")
        self.assertEqual(self.store._run("select * from approval", ())[0], [])

    def test_withdraws_a_request_so_that_it_runs_no_more(self):
        id = self.approved()
        self.approvals.withdraw(id, OWNER)
        self.assertEqual(self.service.sessions[id]["state"], "killed")
        self.assert_code("not_approved", self.execute, id)
        self.assertEqual(self.approvals.status(id, OWNER), "ended")
        self.approvals.withdraw(id, OWNER)
        done = self.approved()
        self.execute(done)
        self.assert_code("already_executed", self.approvals.withdraw, done, OWNER)

    def test_repeats_a_completion_that_failed(self):
        id = self.approved()
        self.service.failing = [("POST", 503, {})] * 4
        self.assertEqual(self.execute(id), "sent")
        self.assertEqual((self.service.completed, self.store.find(id).state), ([], "done"))
        self.approvals.reconcile()
        self.assertEqual((self.service.completed, self.store.find(id).state), ([id], "completed"))

    def test_gives_the_describing_function_and_the_action_copies(self):
        def greedy(args):
            args["cents"] = 1
            return [{"label": "Amount", "value": "€1"}]

        self.approvals = self.open(bonded.Action("agent_payments", "transfer", "1", greedy))
        args = {"cents": 5, "list": [1]}
        id = self.approved(args=args)
        self.assertEqual(self.execute(id, args), "sent")
        self.assertEqual(self.runs[0][0], {"cents": 5, "list": [1]})
        self.assertEqual(args, {"cents": 5, "list": [1]})

    def test_rejects_arguments_that_are_no_object_of_json(self):
        for args in (
            [],
            {"x": {1}},
            {"x": float("inf")},
            {"__proto__": 1},
            {"a": {"__proto__": {}}},
        ):
            with self.assertRaises(bonded.ApprovalError, msg=str(args)) as raised:
                self.approvals.request(asked(args={**ARGS, **args} if args else args))
            self.assertEqual(raised.exception.code, "arguments_invalid")
        long = {**ARGS, "note": "x" * 8_193}
        with self.assertRaises(bonded.ApprovalError) as raised:
            self.approvals.request(asked(args=long))
        self.assertEqual(raised.exception.code, "text_too_long")

    def test_reports_an_outage_and_waits_through_it_until_the_time_of_the_user(self):
        id = self.approvals.request(asked()).id
        for read in (
            lambda: self.approvals.status(id, OWNER),
            lambda: self.approvals.latest(asked()),
        ):
            self.service.failing = [("GET", 503, {})] * 4
            with self.assertRaises(bonded.BondedError) as raised:
                read()
            self.assertEqual(raised.exception.code, "service_unavailable")
        self.service.failing = [("GET", 503, {})] * 8
        self.service.sessions[id]["state"] = "expired"
        self.assertEqual(self.approvals.wait(id, OWNER), "expired")
        self.assertEqual(self.service.failing, [])
        self.service.failing = [("GET", 503, {})] * 4
        self.clock.sleep(25 * 60 * 60)
        with self.assertRaises(bonded.BondedError) as raised:
            self.approvals.wait(id, OWNER)
        self.assertTrue(raised.exception.retryable)

    def test_waits_no_longer_than_the_caller_wants(self):
        id = self.approvals.request(asked()).id
        with self.assertRaises(TimeoutError):
            self.approvals.wait(id, OWNER, 30)
        self.clock.sleep(4_000)
        self.service.sessions[id]["state"] = "expired"
        self.assertEqual(self.approvals.wait(id, OWNER), "expired")

    def test_runs_once_for_many_threads(self):
        id = self.approved()
        results = []

        def call():
            try:
                results.append(self.execute(id))
            except bonded.ApprovalError as error:
                results.append(error.code)

        threads = [threading.Thread(target=call) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(self.runs), results.count("sent"), len(results)), (1, 1, 12))


class AsynchronousApprovals(Scenarios, unittest.TestCase):
    kind = "async"

    def test_awaits_an_action_with_async_and_stores_that_a_canceled_one_is_unknown(self):
        async def run(args, id):
            return "sent"

        self.assertEqual(self.execute(self.approved(), run=run), "sent")

        async def cancel(args, id):
            raise asyncio.CancelledError

        id = self.approved(key="k")
        with self.assertRaises(asyncio.CancelledError):
            self.execute(id, run=cancel)
        self.assertEqual(self.store.find(id).state, "unknown")


class SynchronousApprovals(Scenarios, unittest.TestCase):
    def test_refuses_an_action_with_async_before_it_begins(self):
        async def run(args, id):
            self.runs.append(args)

        id = self.approved()
        with self.assertRaises(TypeError):
            self.execute(id, run=run)
        self.assertEqual(self.store.find(id).state, "waiting")

        class Later:
            def __await__(self):
                yield

        self.assert_code("outcome_unknown", self.execute, id, ARGS, lambda *_: Later())


class Stores(unittest.TestCase):
    def test_refuses_to_write_while_a_transaction_of_the_caller_is_open(self):
        folder = self.enter(tempfile.TemporaryDirectory())
        is_open = True
        store = stores.SqliteApprovalStore(f"{folder}/a.sqlite3", in_transaction=lambda: is_open)
        self.addCleanup(lambda: store.close())
        row = stores.StoredApproval("sess_1", "{}", "l", "waiting", 1, 2)
        for call in (
            lambda: store.put(row),
            lambda: store.move("sess_1", "waiting", "running", 3),
            lambda: store.remove("sess_1"),
            lambda: store.remove_expired(9),
        ):
            with self.assertRaises(bonded.BondedError) as raised:
                call()
            self.assertEqual(raised.exception.code, "invalid_request")
        is_open = False
        store.put(row)
        is_open = True
        self.assertEqual(store.find("sess_1"), row)

    def test_keeps_running_of_a_process_that_ends_in_its_action(self):
        folder = self.enter(tempfile.TemporaryDirectory())
        program = """
import os, sys
sys.path.insert(0, os.getcwd())
from fake_service import Clock, FakeService, open_approvals
from test_approvals import ACTION, ARGS, OWNER, asked, stores
store = stores.SqliteApprovalStore(sys.argv[1])
service = FakeService(Clock())
approvals = open_approvals("sync", service, store, ACTION)
id = approvals.request(asked()).id
service.bond(id)
print(id, flush=True)
approvals.execute(id, OWNER, ARGS, lambda *_: os._exit(7))
"""
        path = f"{folder}/a.sqlite3"
        command = [sys.executable, "-B", "-c", program, path]
        ended = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(ended.returncode, 7, ended.stderr)
        store = stores.SqliteApprovalStore(path)
        self.addCleanup(store.close)
        self.assertEqual(store.find(ended.stdout.strip()).state, "running")

    @unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
    def test_opens_a_connection_of_its_own_in_a_child_process(self):
        folder = self.enter(tempfile.TemporaryDirectory())
        store = stores.SqliteApprovalStore(f"{folder}/a.sqlite3")
        store.put(stores.StoredApproval("sess_1", "{}", "l", "waiting", 1, 2))
        before = store._connection
        child = os.fork()
        if child == 0:
            moved = store.move("sess_1", "waiting", "running", 3)
            os._exit(0 if moved and store._connection is not before else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(store.find("sess_1").state, "running")
        store.close()

    def enter(self, context):
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value
