"""The control adapter of what verifies receipts in Python. It prints its port.

    product_python.py package | script

`package` is `bonded`, which must be on the path. `script` is docs/guides/verify_receipt.py.
"""
import functools
import http.server
import importlib.util
import json
import pathlib
import sys

SCRIPT = pathlib.Path(__file__).parents[3] / "docs/guides/verify_receipt.py"
#: What the script throws for a malformed receipt; its main function prints it.
MALFORMED = (ValueError, KeyError, TypeError, IndexError)


def of_package():
    from bonded.receipts import verify_consistency, verify_quorum, verify_receipt
    from bonded.webhooks import verify_webhook

    def webhooks(headers, body, secrets, now):
        return verify_webhook(headers, body.encode(), secrets, now=lambda: now).reason is None

    return {
        "receipts": lambda receipt, jwks, **of: verify_receipt(receipt, jwks, **of).reason is None,
        "quorums": lambda receipts, jwks, **of: verify_quorum(receipts, jwks, **of).reason is None,
        "logs": lambda **of: verify_consistency(**of).reason is None,
        "webhooks": webhooks,
    }


def of_script():
    spec = importlib.util.spec_from_file_location("verify_receipt", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    def keys_of(jwks):
        return {key["kid"]: script.b64url(key["x"]) for key in jwks["keys"]}

    def accepts(act):
        @functools.wraps(act)
        def run(**given):
            try:
                act(**given)
            except (SystemExit, *MALFORMED):
                return False
            return True

        return run

    @accepts
    def receipts(receipt, jwks, proof=None, issuer=None, tenant_id=None, session_id=None):
        claims = script.verify_jws(receipt, keys_of(jwks))
        script.verify_phone(claims)
        # The script prints the claims. Its reader compares them.
        for name, value in (("iss", issuer), ("aud", tenant_id), ("session_id", session_id)):
            script.check(value in (None, claims[name]), "another receipt")
        if proof is not None:
            script.verify_inclusion(receipt, proof, claims["log_origin"], keys_of(jwks))

    @accepts
    def logs(older, newer, proof, jwks):
        notes = [script.open_checkpoint(note, keys_of(jwks)) for note in (older, newer)]
        script.verify_consistency(*notes, [script.b64(line) for line in proof.split()])

    return {"receipts": receipts, "logs": logs}


class Adapter(http.server.BaseHTTPRequestHandler):
    commands = {"package": of_package, "script": of_script}[sys.argv[1]]()
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        command = self.commands.get(self.path.removeprefix("/check/"))
        reply = json.dumps({"valid": command(**body)} if command else {}).encode()
        self.send_response(200 if command else 404)
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_of):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Adapter)
print(server.server_port, flush=True)
server.serve_forever()
