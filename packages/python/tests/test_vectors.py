"""Holds the package against the TypeScript library by shared vectors."""
import json
import unittest
from unittest import mock

from bonded import approvals, canonical, display, errors, gate, lookalikes, protocol
from bonded import unicode_tables as tables
from vectors import BASE_URL, CREDENTIAL, VECTORS


class Vectors(unittest.TestCase):
    def test_writes_the_canonical_json_and_the_digest_of_the_contract(self):
        for vector in VECTORS["canonical"]:
            record = json.loads(vector["json"])
            self.assertEqual(canonical.canonical_json(record), vector["canonical"])
            self.assertEqual(canonical.binding_digest(record), vector["digest"])

    def test_rejects_a_value_without_a_canonical_form(self):
        for text in VECTORS["rejected"]:
            with self.assertRaises(errors.NotCanonicalError, msg=text):
                canonical.canonical_json(json.loads(text))
        for value in (b"x", {1: 2}, {"a": {1, 2}}, float("nan"), object()):
            with self.assertRaises(errors.NotCanonicalError, msg=str(value)):
                canonical.canonical_json(value)

    def test_cleans_the_text_that_a_phone_shows_as_display_text_does(self):
        for vector in VECTORS["display"]:
            typed = vector["typed"]
            self.assertEqual(display.display_text(typed), vector["value"], ascii(typed))
            label = display.display_text(typed, marks=False, empty="")
            self.assertEqual(label, vector["label"], ascii(typed))

    def test_writes_the_text_of_a_request_as_the_library_does(self):
        for vector in VECTORS["texts"]:
            args = json.loads(canonical.canonical_json(json.loads(vector["json"])))
            text = lookalikes.request_text(args)
            self.assertEqual(text, vector["text"], ascii(vector))
            # It parses to the arguments that run.
            self.assertEqual(json.loads(text), args)

    def test_keeps_the_same_marks_bullets_quotation_marks_and_digits(self):
        is_one = display.one_of(tables.SIGN, tables.BULLET, tables.MEMBER_QUOTE, tables.DIGIT)
        ones = [one for one in map(chr, range(0x80, 0x20000)) if is_one(one)]
        self.assertGreater(len(ones), 3_000)
        for vector in VECTORS["kept"]:
            ranges = [one.split("-") for one in vector["kept"].split()]
            expected = [
                chr(code) for one, last in ranges for code in range(int(one, 16), int(last, 16) + 1)
            ]
            texts = {one: vector["template"].replace("%", one) for one in ones}
            kept = [one for one in ones if lookalikes.escape_lookalikes(texts[one]) == texts[one]]
            self.assertEqual(kept, expected, vector["template"])

    def test_makes_the_context_and_the_digests_of_a_request_as_the_library_does(self):
        for vector in VECTORS["contexts"]:
            pairs = [{"label": "To", "value": vector["to"]}]
            pairs += [{"label": "Получатель", "value": "1О0"}, {"label": "Банк", "value": "НР"}]
            pairs += [{"label": "Note", "value": ""}]
            action = approvals.Action("w", "a", "1", lambda _: pairs)
            _, context = action.context_of(
                json.loads(vector["json"]), vector["requester"], vector.get("repeats")
            )
            self.assertEqual(context, vector["context"])
            asked = {"owner": "anna", "subject_ref": "s" * 43, "context": context}
            self.assertEqual(canonical.binding_digest(asked), vector["asked"])
            purpose = {"workflow": "w", "action": "a", "subject_ref": "s" * 43}
            lookup = canonical.binding_digest({**purpose, "digest": context["digest"]})
            self.assertEqual(lookup, vector["lookup"])

    def test_judges_every_session_under_every_policy_as_the_gate_does(self):
        row = {"session_id": "sess_" + "0" * 22, "workflow": "w", "action": "a", "owner": "anna"}
        row["context_digest"] = digest = "d" * 43
        seen = set()
        for vector in VECTORS["verdicts"]:
            for rule, expected in zip(VECTORS["rules"], vector["expected"]):
                policy = gate.Policy("w", "a", **rule["policy"])
                stored = {**row, "subject_ref": rule["subject_ref"]}
                decision, reasons = gate.judge_submit(
                    vector["session"], stored, "anna", policy, digest
                )
                self.assertEqual(" ".join([decision, *reasons]), expected, (vector, rule))
                seen.update([decision, *reasons])
        self.assertGreater(len(seen), 18)

    def test_judges_every_quorum_as_the_contract_does(self):
        row = {"workflow": "w", "action": "a", "owner": "anna", "context_digest": "d" * 43}
        seen = set()
        for vector in VECTORS["quorums"]:
            policy = gate.Policy("w", "a", minimum=vector["minimum"])
            stored = {**row, "quorum": vector["row"]}
            found = gate.judge_quorum(
                vector["sessions"], stored, vector["owner"], policy, vector["digest"]
            )
            self.assertEqual(list(found[:2]), vector["expected"], vector)
            seen.update(found[0] or ["accept"])
        self.assertEqual(len(seen), 5)
        unset = gate.Policy("w", "a")
        facts = (VECTORS["quorums"][0]["sessions"], {**row, "quorum": VECTORS["quorums"][0]["row"]})
        found = gate.judge_quorum(*facts, "anna", unset, "d" * 43)
        self.assertEqual(found, (["quorum_mismatch"], [], []))

    def test_reads_every_answer_as_the_gate_does(self):
        for vector in VECTORS["answers"]:
            status, text, *retry_after = vector["answer"]
            service = protocol.Service(BASE_URL, CREDENTIAL)
            service.now, service._elapsed = lambda: 1795253400.0, lambda: 0.0
            flow = service.read("sess_" + "0" * 22)
            answer = protocol.Answer(status, (retry_after or [None])[0], text)
            found = None
            try:
                with mock.patch("random.uniform", return_value=1.0):
                    effect = next(flow)
                    while True:
                        is_request = isinstance(effect, protocol.Request)
                        effect = flow.send(answer if is_request else None)
            except StopIteration:
                pass
            except errors.BondedError as error:
                message = None if status == 200 or error.param else error.args[0]
                texts = [error.reason, error.param, error.doc_url, error.request_id]
                wait = error.retry_after
                found = {
                    "code": error.code,
                    "message": message,
                    "texts": [*texts, error.reported_at],
                    "retryAfterMs": None if wait is None else wait * 1_000,
                    "retryable": error.retryable,
                }
            self.assertEqual(found, vector["error"], vector["answer"])

    def test_has_a_remedy_for_every_code(self):
        self.assertEqual(list(errors.REMEDIES), VECTORS["codes"])
