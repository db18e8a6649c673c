"""Prints the verdict on each receipt, log and delivery that it reads, for the TypeScript tests."""
import base64
import json
import sys

from bonded import receipts, webhooks


def receipt(given):
    return receipts.verify_receipt(**given)


def quorum(given):
    return receipts.verify_quorum(**given)


def consistency(given):
    return receipts.verify_consistency(**given)


def webhook(given):
    given["body"] = base64.b64decode(given["body"])
    now = given.pop("now")
    return webhooks.verify_webhook(**given, now=lambda: now)


KINDS = {"receipt": receipt, "quorum": quorum, "consistency": consistency, "webhook": webhook}
print(json.dumps([KINDS[kind](given).reason or "accept" for kind, given in json.load(sys.stdin)]))
