"""The vectors that scripts/python-vectors.ts writes from the TypeScript library."""
import json
import pathlib

VECTORS = json.loads((pathlib.Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))
[CREDENTIAL] = VECTORS["credential"]
BASE_URL = "https://bonded.test"
