"""What the clients send, and how they answer a service that does not."""
import asyncio
import contextlib
import json
import unittest
from unittest import mock

import bonded
import httpx
from bonded import gate, protocol
from vectors import BASE_URL, CREDENTIAL, VECTORS

ID = "sess_" + "0" * 22
CREATED = {
    "id": ID,
    "completion_secret": "bcs_" + "c" * 43,
    "expires_at": "2026-11-21T09:35:00.000Z",
}
POLICY = bonded.Policy("w", "a")


def client(answer, requests=None):
    """A sync client whose requests a function answers."""

    def handle(request):
        if requests is not None:
            requests.append(request)
        return answer(request)

    return bonded.Bonded(
        BASE_URL, CREDENTIAL, http=httpx.Client(transport=httpx.MockTransport(handle))
    )


def both(answer, call):
    """The results of the sync client and of the async one for one call, by its name."""
    name, *arguments = call
    requests = []

    async def run():
        transport = httpx.MockTransport(
            lambda request: (requests.append(request), answer(request))[1]
        )
        http = httpx.AsyncClient(transport=transport)
        async with bonded.AsyncBonded(BASE_URL, CREDENTIAL, http=http) as asynchronous:
            return await getattr(asynchronous, name)(*arguments)

    with client(answer, requests) as synchronous:
        return getattr(synchronous, name)(*arguments), asyncio.run(run()), requests


class Clients(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        # Without waits between attempts.
        stack.enter_context(mock.patch("random.uniform", return_value=0.0))

    def test_creates_a_session_with_a_cleaned_display_and_one_key(self):
        display = [{"label": "Note", "value": " two  spaces\r\n"}]
        new = bonded.NewSession(POLICY, display, "d" * 43, "192.0.2.7", "s" * 43)
        call = ("create", new)
        one, other, requests = both(lambda _: httpx.Response(201, json=CREATED), call)
        self.assertEqual((one, other), (CREATED, CREATED))
        for request in requests:
            self.assertEqual(
                (request.method, str(request.url)), ("POST", f"{BASE_URL}/api/v1/sessions")
            )
            self.assertEqual(request.headers["authorization"], f"Bearer {CREDENTIAL}")
            self.assertGreaterEqual(len(request.headers["idempotency-key"]), 32)
            self.assertEqual(
                json.loads(request.content),
                {
                    "workflow": "w",
                    "action": "a",
                    "context": {
                        "display": [{"label": "Note", "value": "two spaces"}],
                        "digest": "d" * 43,
                    },
                    "end_user_address": "192.0.2.7",
                    "subject_ref": "s" * 43,
                },
            )

    def test_repeats_a_create_with_the_same_key_and_gives_up_after_four_attempts(self):
        requests = []
        with client(lambda _: httpx.Response(503), requests) as service:
            with self.assertRaises(bonded.BondedError) as raised:
                service.create(bonded.NewSession(POLICY, [], "d", None))
        self.assertEqual(raised.exception.code, "service_unavailable")
        self.assertEqual(len({request.headers["idempotency-key"] for request in requests}), 1)
        self.assertEqual(len(requests), 4)

    def test_says_without_the_text_of_the_failure_that_no_answer_came(self):
        def fail(_):
            raise httpx.ConnectError("http://user:secret@proxy")

        with client(fail) as service, self.assertRaises(bonded.BondedError) as raised:
            service.read(ID)
        self.assertIn("ConnectError", str(raised.exception))
        self.assertNotIn("secret", str(raised.exception))
        self.assertTrue(raised.exception.retryable)

    def test_reads_an_answer_of_any_depth_or_length_as_none(self):
        for text in ("[" * 100_000, "x" * (protocol.MAX_ANSWER_BYTES + 1)):
            with client(lambda _: httpx.Response(200, text=text)) as service:
                with self.assertRaises(bonded.BondedError) as raised:
                    service.read(ID)
            self.assertEqual(raised.exception.code, "service_unavailable")

    def test_does_not_follow_a_redirect_with_the_credential(self):
        requests = []
        redirect = httpx.Response(302, headers={"location": "https://other.example/"})
        with client(lambda _: redirect, requests) as service:
            with self.assertRaises(bonded.BondedError) as raised:
                service.read(ID)
        self.assertEqual((len(requests), raised.exception.code), (1, "unexpected_answer"))

    def test_completes_with_the_secret_the_digest_and_the_outcome(self):
        call = ("complete", ID, "bcs_x", "d" * 43, "in_review")
        _, _, requests = both(lambda _: httpx.Response(200, json={"ok": True}), call)
        for request in requests:
            self.assertEqual(str(request.url), f"{BASE_URL}/api/v1/sessions/{ID}/form-completed")
            names = ("completion-secret", "context-digest", "outcome")
            sent = [request.headers[f"x-bond-{name}"] for name in names]
            self.assertEqual(sent, ["bcs_x", "d" * 43, "in_review"])

    def test_sends_the_secret_of_the_browser_and_no_other_text_of_the_form(self):
        secret = "s" * 43
        for given in (secret, None, "", secret + "x", secret[1:] + "\n", [secret]):
            call = ("read", ID, given)
            _, _, requests = both(lambda _: httpx.Response(200, json={"id": ID}), call)
            expected = secret if given == secret else None
            for request in requests:
                self.assertEqual(request.headers.get("x-bond-browser-secret"), expected)

    def test_takes_the_origin_of_the_service_or_its_api_base_over_https(self):
        base = f"{BASE_URL}/api/v1"
        for text in (BASE_URL, f"{BASE_URL}/", base, f"{base}/", "http://localhost:8787"):
            protocol.Service(text, CREDENTIAL)
        for text in (
            "",
            "bond.test",
            "http://bond.test",
            f"{base}/sessions",
            "https://u:p@bond.test",
        ):
            with self.assertRaises(bonded.BondedError, msg=text) as raised:
                protocol.Service(text, CREDENTIAL)
            self.assertEqual(raised.exception.code, "invalid_configuration")

    def test_rejects_a_mistyped_credential_and_does_not_print_it(self):
        for text in (CREDENTIAL[:-1], CREDENTIAL[:-1] + "0", f"{CREDENTIAL}\n", ""):
            with self.assertRaises(bonded.BondedError) as raised:
                protocol.Service(BASE_URL, text)
            self.assertNotIn("k" * 10, str(raised.exception))

    def test_needs_the_user_where_the_policy_requires_the_browser(self):
        page = "https://www.bank.example"
        with client(lambda _: httpx.Response(201, json=CREATED)) as service:
            policy = bonded.Policy("w", "a", browser_origin=page)
            with self.assertRaises(ValueError):
                service.create(bonded.NewSession(policy, [], "d", None))
            first = bonded.Policy("w", "a", browser_origin=page, first_bond=True)
            self.assertEqual(service.create(bonded.NewSession(first, [], "d", None)), CREATED)
        for origin in ("", "bank.example", f"{page}/", "https://*.bank.example/a"):
            with self.assertRaises(ValueError, msg=origin):
                bonded.Policy("w", "a", browser_origin=origin)


class Judge(unittest.TestCase):
    def test_rejects_another_user_a_row_of_another_workflow_and_a_wrong_owner(self):
        session = next(
            one["session"] for one in VECTORS["verdicts"] if one["expected"][0] == "accept"
        )
        row = {"session_id": ID, "workflow": "w", "action": "a", "owner": "anna"}
        row.update(context_digest="d" * 43, subject_ref=None)
        ours = ("reject", ["session_not_ours"])
        for owner, change, expected in (
            ("anna", {}, ("accept", [])),
            ("bob", {}, ours),
            (None, {"owner": None}, ours),
            (" ", {"owner": " "}, ours),
            ("anna", {"workflow": "x"}, ours),
            ("anna", {"action": "x"}, ours),
            ("anna", {"subject_ref": "x"}, ("reject", ["subject_mismatch"])),
            ("anna", {"context_digest": "x" * 43}, ("reject", ["context_mismatch"])),
        ):
            found = gate.judge_submit(session, {**row, **change}, owner, POLICY, "d" * 43)
            self.assertEqual(found, expected)
        self.assertEqual(
            gate.judge_submit(session, row, "anna", POLICY, ""), ("reject", ["context_missing"])
        )
        self.assertEqual(gate.judge_submit(session, None, "anna", POLICY, "d" * 43), ours)
        # A table without the column must not turn the check off.
        del row["subject_ref"]
        with self.assertRaises(KeyError):
            gate.judge_submit(session, row, "anna", POLICY, "d" * 43)
