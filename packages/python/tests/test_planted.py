"""Each planted difference from the TypeScript library fails a vector."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).parent
SOURCES = TESTS.parent / "src"

# A module, a part of it, what is in its place, and the test that must fail.
PLANTED = [
    ("canonical.py", '"utf-16-be", "surrogatepass"))', '"utf-8", "surrogatepass"))', "canonical"),
    ("canonical.py", "if -6 < point <= 0", "if -4 < point <= 0", "canonical"),
    ("canonical.py", "if abs(value) > MAX_INTEGER", "if abs(value) > 2**64", "rejects_a_value"),
    ("canonical.py", "sorted(indexes, key=int)", "sorted(indexes)", "text_of_a_request"),
    ("canonical.py", "2**32 - 1]", "2**32]", "text_of_a_request"),
    ("canonical.py", "(?<=[{JS_SPACE}])[{JS_SPACE}]", "(?<= ) ", "text_of_a_request"),
    ("display.py", "\\u0622-\\u0625", "\\u0622-\\u0624", "display_text"),
    (
        "display.py",
        "if one in _JOINERS and (_is_virama(before)",
        "if (_is_virama(before)",
        "display_text",
    ),
    ("display.py", "if not fits(cleaned):", "if False:", "display_text"),
    ("lookalikes.py", "_MIN_LETTERS = 4", "_MIN_LETTERS = 5", "text_of_a_request"),
    (
        "lookalikes.py",
        'beside_latin[start : start + 1] == "+"',
        "False",
        "text_of",
    ),
    ("lookalikes.py", "(?![ksvwz](?![a-z]))", "", "text_of"),
    ("lookalikes.py", "if not is_foreign:", "if True:", "text_of"),
    ("lookalikes.py", "if not _draws_member(line):", "if True:", "text_of"),
    ("lookalikes.py", "at and _is_in_group(", "False and _is_in_group(", "text_of"),
    ("lookalikes.py", "at and _is_armenian(", "False and _is_armenian(", "text_of"),
    ("lookalikes.py", '(one == "\\u0307" and', '("" and', "text_of"),
    ("lookalikes.py", "not _is_accent(one) and", "", "text_of"),
    ("canonical.py", "|(?<=')'", "", "text_of"),
    ("lookalikes.py", "label.lower()", "label", "text_of_a_request"),
    ("unicode_tables.py", "USUAL_MARKS = (", "USUAL_MARKS = str(), (", "text_of_a_request"),
    (
        "approvals.py",
        "f\"{pair['label']}\\n{pair['value']}\"",
        "f\"\\n{pair['value']}\"",
        "context_and",
    ),
    ("approvals.py", '"version": self.version, ', "", "context_and"),
    ("gate.py", "MIN_CONFIDENCE = 0.55", "MIN_CONFIDENCE = 0.56", "judges"),
    ("gate.py", "type(score) in (int, float)", "score is not None", "judges"),
    ("gate.py", "(expects or proved) and", "expects and", "judges"),
    (
        "gate.py",
        'is not True:\n        yield "device',
        'is False:\n        yield "device',
        "judges",
    ),
    ("gate.py", '"quorum") is not None', '"quorum") is False', "judges"),
    ("gate.py", "len(decided) == len(sessions) ==", "len(sessions) ==", "quorum"),
    ("gate.py", 'len(decided) == len(sessions) == rule["of"]', "True", "quorum"),
    ("gate.py", "is_shown and is_rule", "is_rule", "quorum"),
    ("gate.py", "is_shown and is_rule", "is_shown", "quorum"),
    ("gate.py", "policy.minimum or math.inf", "policy.minimum or 0", "quorum"),
    ("gate.py", 'len(set(refs)) == len(refs) == rule["of"]', "True", "quorum"),
    ("gate.py", '("user_declined", "user_unexpected") for', '("user_declined",) for', "quorum"),
    ("gate.py", 'decision == "accept"]', 'decision != "reject"]', "quorum"),
    ("gate.py", "not set(users) <= set(refs) or", "False or", "quorum"),
    ("gate.py", "or len(set(users)) < len(users)", "", "quorum"),
    ("gate.py", 'if len(approved) >= rule["needed"] else', "if approved else", "quorum"),
    ("gate.py", "if not time_of(", "if False and not time_of(", "judges"),
    ("protocol.py", "if status == 404 and code", "if status in (404, 409) and code", "answer"),
    ("protocol.py", "if code is None or status < 400", "if status < 400", "answer"),
    ("errors.py", '"not_found": "Create', '"gone": "Create', "remedy"),
]


class Planted(unittest.TestCase):
    def test_each_planted_difference_fails_a_vector(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "bonded"
            shutil.copytree(SOURCES / "bonded", copy, ignore=shutil.ignore_patterns("__pycache__"))
            # Without a planted difference all pass, so a failure below has no other cause.
            for name, before, after, test in [("gate.py", "import", "import", "test"), *PLANTED]:
                with self.subTest(module=name, planted=after):
                    source = (SOURCES / "bonded" / name).read_text(encoding="utf-8")
                    self.assertEqual(source.count(before) > 0, True, "the part exists")
                    (copy / name).write_text(source.replace(before, after, 1), encoding="utf-8")
                    command = [sys.executable, "-B", "-m", "unittest", "-k", test, "test_vectors"]
                    env = {**os.environ, "PYTHONPATH": folder}
                    run = subprocess.run(
                        command, cwd=TESTS, env=env, capture_output=True, text=True
                    )
                    self.assertEqual(run.returncode, int(before != after), run.stderr)
                    self.assertIn("OK" if before == after else "FAILED", run.stderr)
                    (copy / name).write_text(source, encoding="utf-8")
