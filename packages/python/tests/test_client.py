"""What the clients send, and how they answer a service that does not."""
import asyncio
import contextlib
import json
import ssl
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

    def raised_by(self, answer, call=lambda service: service.read(ID), error=bonded.BondedError):
        requests = []
        with client(answer, requests) as service, self.assertRaises(error) as raised:
            call(service)
        return raised.exception, len(requests)

    def test_names_the_origin_and_what_failed_on_the_way_to_it(self):
        # Port 9 of this machine refuses every connection.
        with bonded.Bonded("http://127.0.0.1:9", CREDENTIAL) as service:
            with self.assertRaises(bonded.BondedError) as raised:
                service.read(ID)
        self.assertEqual(
            str(raised.exception),
            "The service at http://127.0.0.1:9/api/v1 did not answer: ConnectError: Connection"
            " refused.",
        )
        self.assertIsInstance(raised.exception.__cause__.__cause__, httpx.ConnectError)

        def fail(_):
            expired = ssl.SSLCertVerificationError(1, "certificate has expired")
            raise httpx.ConnectError("failed") from expired

        error, _ = self.raised_by(fail)
        self.assertIn(f"{BASE_URL}/api/v1 did not answer", str(error))
        self.assertIn("ConnectError: certificate has expired", str(error))

    def test_repeats_a_call_after_half_an_answer(self):
        class Half(httpx.SyncByteStream):
            def __iter__(self):
                yield b'{"id'
                raise httpx.RemoteProtocolError("peer closed connection")

        for answer, text in (
            (lambda: httpx.Response(200, stream=Half()), "did not answer: RemoteProtocolError"),
            (lambda: httpx.Response(200, text="<html>"), "answer of 6 characters is not whole JSON"),
        ):
            error, count = self.raised_by(lambda _: answer())
            self.assertEqual((error.code, count), ("service_unavailable", 4))
            self.assertIn(text, str(error))
            self.assertIn(BASE_URL, str(error))

    def test_writes_what_a_log_needs_into_the_text_of_an_error(self):
        def reject(status, **error):
            return self.raised_by(lambda _: httpx.Response(status, json={"error": error}))[0]

        known = {"code": "invalid_request", "message": "No.", "requestId": "req_1"}
        error = reject(400, **known, reason="w_unknown", doc_url="/reasons#w")
        self.assertEqual(str(error), f"No. (w_unknown, req_1, {BASE_URL}/reasons#w)")
        # One line, without escape sequences, also from something that is not the service.
        error = reject(400, **known, reason="a\nb\x1b", doc_url="//[")
        address = f"{BASE_URL}/api/v1/sessions/{ID}"
        self.assertEqual(str(error), f"No. (a\\u{{a}}b\\u{{1b}}, req_1, {address})")
        error, _ = self.raised_by(lambda _: httpx.Response(502, text="<html>"))
        self.assertEqual(str(error), f"The service answered 502. ({address})")

    def test_says_what_it_sent_where_a_value_is_rejected_but_not_the_value(self):
        display = [{"label": "Note", "value": "x" * 999}, {"label": "", "value": "y"}]
        new = bonded.NewSession(POLICY, display, "d", "192.0.2.7", text=["x"])
        for param, sent in (
            ("context.display.0.value", "No. context.display.0.value is a text of 999 characters."),
            ("context.display.1.label", "No. context.display.1.label is empty."),
            ("context.text", "No. context.text is of the type list."),
            ("context.display.2.value", "No."),
            ("context.display.x", "No."),
            ("context.requester.name", "No."),
            ("context", "No."),
        ):
            body = {"error": {"code": "invalid_request", "message": "No.", "param": param}}
            error, _ = self.raised_by(
                lambda _: httpx.Response(400, json=body), lambda service: service.create(new)
            )
            self.assertEqual(error.args[0], sent)
            self.assertNotIn("xx", str(error))

    def test_names_the_member_of_a_pair_that_is_not_a_text(self):
        for value, kind in ((12_500, "int"), (12.5, "float"), ([1], "list")):
            new = bonded.NewSession(POLICY, [{"label": "Amount", "value": value}], "d", None)
            error, count = self.raised_by(None, lambda service: service.create(new), TypeError)
            self.assertEqual(str(error), f"display.0.value is of the type {kind}: pass a text")
            self.assertEqual(count, 0)

    def test_requires_each_text_before_a_call(self):
        calls = {
            "workflow": lambda _, text: bonded.Policy(text, "a"),
            "action": lambda _, text: bonded.Policy("w", text),
            "version": lambda _, text: bonded.Action("w", "a", text, lambda args: []),
            "session_id": lambda service, text: service.read(text),
            "completion_secret": lambda service, text: service.complete(ID, text, "d"),
            "outcome": lambda service, text: service.complete(ID, "c", "d", text),
            "digest": lambda service, text: service.complete(ID, "c", text),
        }

        def create(service, text):
            return service.create(bonded.NewSession(POLICY, [], text, None))

        def complete(service, text):
            return service.complete(text, "c", "d")

        for name, call in [*calls.items(), ("digest", create), ("session_id", complete)]:
            for text in (None, "", 1):
                error, count = self.raised_by(
                    None, lambda service: call(service, text), ValueError
                )
                self.assertEqual((str(error), count), (f"pass {name}: a text", 0))

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

    def test_refuses_what_no_header_may_have_before_a_call(self):
        given = {"completion-secret": "bcs_x", "context-digest": "d" * 43, "outcome": "accepted"}
        for name in given:
            for wrong in ("x\n", "x\r\nX-Other: y", "x\0", "é", "x y", " "):
                texts = {**given, name: wrong}.values()
                error, count = self.raised_by(None, lambda service: service.complete(ID, *texts))
                self.assertEqual((error.code, error.retryable, count), ("invalid_request", False, 0))
                self.assertIn(name, str(error).lower())

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

    def test_says_what_is_wrong_with_an_option_and_never_the_credential(self):
        cut, blank = CREDENTIAL[:-1], "begins or ends with a space or a line break"
        other = cut + ("1" if CREDENTIAL.endswith("0") else "0")
        mistyped = "is cut or mistyped: its {} characters do not match their checksum"
        for text, wrong in (
            (None, "Pass server_credential: a text."),
            ("", "Pass server_credential: a text."),
            (f"{CREDENTIAL}\n", blank),
            (f" {CREDENTIAL}", blank),
            ("pk_beta_xyz", "is not a server credential: it does not begin with sk_beta_"),
            (cut, mistyped.format(len(cut))),
            (other, mistyped.format(len(CREDENTIAL))),
        ):
            with self.assertRaises(bonded.BondedError) as raised:
                bonded.Bonded(BASE_URL, text)
            self.assertEqual(raised.exception.code, "invalid_configuration")
            self.assertIn(wrong, str(raised.exception))
            self.assertNotIn("k" * 10, str(raised.exception))
        for text in (None, "", 1):
            with self.assertRaises(bonded.BondedError) as raised:
                bonded.Bonded(text, CREDENTIAL)
            self.assertEqual(str(raised.exception), "Pass base_url: a text.")

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
