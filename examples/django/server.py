"""A gated form with Django: python3 server.py. Your own project has these parts as files."""
import json
import os
import re
import sys
import uuid
from pathlib import Path

import django
from django.conf import settings
from django.core.management import execute_from_command_line
from django.db import connection, transaction
from django.http import HttpResponse, JsonResponse
from django.urls import path
from django.views.decorators.http import require_GET, require_POST

import bonded

FOLDER = Path(__file__).parent
ORIGIN, PORT = os.environ["BONDED_ORIGIN"], os.environ["PORT"]
# What the workflow requires more, such as a passport or the browser, belongs here too.
POLICY = bonded.Policy("credit_application", "submit_application")
PURPOSES = ("car", "home", "other")
MAX_DRAFTS = 1_000

settings.configure(
    ALLOWED_HOSTS=["localhost", "127.0.0.1"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.environ.get("DATABASE", FOLDER / "site.sqlite3"),
            # A transaction that reads first must not fail at its first write.
            "OPTIONS": {"transaction_mode": "IMMEDIATE"},
        }
    },
    # The cookie is SameSite=Lax, and the views take JSON only: no form of another site sends that.
    MIDDLEWARE=["django.middleware.security.SecurityMiddleware"],
    ROOT_URLCONF=__name__,
    SECRET_KEY=uuid.uuid4().hex,
)
django.setup()
service = bonded.Bonded(ORIGIN, os.environ["BONDED_SERVER_CREDENTIAL"])
drafts = {}

TABLES = """
create table if not exists bond (session_id text primary key, owner text not null,
  workflow text not null, action text not null, completion_secret text not null,
  context_digest text not null, subject_ref text, used_at text);
create table if not exists application (id integer primary key, form text not null);
"""


def login_of(request):
    """Your own sign-in: here a random cookie."""
    login = request.COOKIES.get("login", "")
    return login if re.fullmatch(r"[0-9a-f]{32}", login) else None


def fields_of(request):
    """The members of a JSON body; None for anything else."""
    if request.content_type != "application/json":
        return None
    try:
        fields = json.loads(request.body)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def problem(status, message, param=None):
    error = {"message": message, **({"code": "form_invalid", "param": param} if param else {})}
    return JsonResponse({"error": error}, status=status)


@require_GET
def page(_request):
    html = (FOLDER / "page.html").read_text()
    html = html.replace("{{origin}}", ORIGIN)
    html = html.replace("{{publishable_key}}", os.environ["BONDED_PUBLISHABLE_KEY"])
    socket = ORIGIN.replace("http", "ws", 1)
    policy = (
        f"default-src 'none'; script-src 'self' {ORIGIN}; connect-src 'self' {ORIGIN} {socket}; "
        f"img-src {ORIGIN} data:; style-src-attr 'unsafe-inline'; frame-ancestors 'none'"
    )
    return HttpResponse(html, headers={"Content-Security-Policy": policy})


@require_GET
def script(_request):
    return HttpResponse((FOLDER / "page.js").read_text(), content_type="text/javascript")


@require_POST
def save_draft(request):
    fields = fields_of(request) or {}
    amount, purpose, note = fields.get("amount"), fields.get("purpose"), fields.get("note", "")
    is_valid = type(amount) is int and 1 <= amount <= 100_000 and purpose in PURPOSES
    if not is_valid or not isinstance(note, str):
        return problem(400, "Check the fields of the form.")
    login = login_of(request) or uuid.uuid4().hex
    if len(drafts) >= MAX_DRAFTS:
        drafts.pop(next(iter(drafts)))
    drafts[login] = {"amount": amount, "purpose": purpose, "note": note}
    response = JsonResponse({"saved": True})
    response.set_cookie("login", login, httponly=True, samesite="Lax")
    return response


@require_POST
def create_session(request):
    """The widget's sessionEndpoint. The context is built from the saved draft, never the request."""
    if fields_of(request) is None:
        return problem(400, "Send JSON.")
    login = login_of(request)
    draft = drafts.get(login)
    if draft is None:
        return problem(409, "Fill in the form first.")
    display = [
        {"label": "Amount", "value": f"€{draft['amount']}"},
        {"label": "Loan for", "value": draft["purpose"]},
        {"label": "Note", "value": draft["note"]},
    ]
    try:
        digest = bonded.binding_digest(draft)
    except bonded.NotCanonicalError:
        return problem(400, "Check the field “Note” of the form.", "note")
    # The subject_ref of an earlier bond of this user, if you store it: then only their phones can
    # approve.
    subject_ref = None
    try:
        # Behind a proxy, take the address that your proxy appends to X-Forwarded-For: the last one.
        address = request.META["REMOTE_ADDR"]
        new = bonded.NewSession(POLICY, display, digest, address, subject_ref)
        session = service.create(new)
    except bonded.BondedError as error:
        if (error.param or "").startswith("context."):
            # What no phone could show, such as too long a text.
            label = display[int(error.param.split(".")[2])]["label"]
            return problem(400, f"Check the field “{label}” of the form.", error.param)
        print(f"create failed: {error}", file=sys.stderr)
        return problem(503, "Approving by phone does not work at the moment.")
    secret = session.pop("completion_secret")
    with connection.cursor() as cursor:
        purpose = [POLICY.workflow, POLICY.action]
        row = [session["id"], login, *purpose, secret, digest, subject_ref]
        cursor.execute("insert into bond values (%s, %s, %s, %s, %s, %s, %s, null)", row)
    return JsonResponse(session)


@require_POST
def submit(request):
    fields = fields_of(request)
    if fields is None:
        return problem(400, "Send the form as JSON.")
    session_id = fields.pop("session_id", None)
    # Only a workflow that requires the browser has one. It is a secret, and no part of the form.
    browser_secret = fields.pop("browser_secret", None)
    row = find_row(session_id)
    login = login_of(request)
    if row is None or row["owner"] != login or row["used_at"] is not None:
        return problem(403, "Approve this form with your phone first.")
    try:
        digest = bonded.binding_digest(fields)
    except bonded.NotCanonicalError:
        return problem(400, "Check the fields of the form.")
    try:
        session = service.read(session_id, browser_secret)
    except bonded.BondedError as error:
        print(f"read failed: {error}", file=sys.stderr)
        return problem(503, "We could not confirm your approval. Try again in a minute.")
    decision, reasons = bonded.judge_submit(session, row, login, POLICY, digest)
    if decision != "accept":
        print(f"{decision}: {reasons}", file=sys.stderr)
        return problem(403, "Approve this form with your phone first.")
    number = use_and_save(row, fields)
    if number is None:
        return problem(403, "This approval has already been used.")
    try:
        service.complete(session_id, row["completion_secret"], digest)
    except bonded.BondedError as error:
        # The application is saved, so the user succeeded. Repeat the call from a job of yours.
        print(f"complete failed: {error}", file=sys.stderr)
    return JsonResponse({"outcome": "accepted", "result": f"A-{number}"})


def find_row(session_id):
    if not isinstance(session_id, str):
        return None
    with connection.cursor() as cursor:
        cursor.execute("select * from bond where session_id = %s", [session_id])
        values = cursor.fetchone()
        return values and dict(zip((column[0] for column in cursor.description), values))


def use_and_save(row, form):
    """The action and the use of the bond are one transaction. One guarded statement decides."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "update bond set used_at = datetime('now') where session_id = %s and used_at is null",
            [row["session_id"]],
        )
        if cursor.rowcount != 1:
            return None
        cursor.execute("insert into application (form) values (%s)", [json.dumps(form)])
        number = cursor.lastrowid
    # PostgreSQL answers a commit with a rollback, and no error, if the block swallowed one.
    if find_row(row["session_id"])["used_at"] is None:
        raise RuntimeError("the transaction was rolled back")
    return number


urlpatterns = [
    path("", page),
    path("page.js", script),
    path("drafts", save_draft),
    path("bond-session", create_session),
    path("applications", submit),
]

if __name__ == "__main__":
    with connection.cursor() as cursor:
        for statement in TABLES.split(";")[:-1]:
            cursor.execute(statement)
    execute_from_command_line(["manage", "runserver", "--noreload", f"127.0.0.1:{PORT}"])
