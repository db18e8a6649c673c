"""The errors of this package. Branch on `code`, never on the texts."""
from __future__ import annotations

import dataclasses

# What to do about each error of a call.
REMEDIES = {
    "service_unavailable": "Retry later. If it persists, check base_url, the network, and the status of the service.",
    "rate_limited": "Retry after `retry_after`. Limit how many sessions one visitor can create.",
    "unauthorized": "Set server_credential to a credential of this service that is not revoked.",
    "forbidden": "Enable the workflow and action for this credential, or let the operator resume the tenant.",
    "invalid_request": "Change the call: the message and `reason` name what is wrong.",
    "not_found": "Create a new session: this one was deleted, or belongs to another tenant.",
    "unexpected_answer": "Set base_url to the service itself: something else answered.",
    "invalid_configuration": "Change the option that the message names. No call was made.",
}
# What to do about each error of an approval.
APPROVAL_REMEDIES = {
    "approval_unknown": "Use the store, the id and the owner of the request.",
    "arguments_invalid": "Pass arguments that are a JSON object. The message names the member.",
    "text_too_long": "Request less at once: a person reads all of it before approving.",
    "not_approved": "Wait until the user approves, or make a new request. See `reasons`.",
    "outcome_unknown": "Find out whether the action happened, and pass the answer to `reconcile`.",
    "already_executed": "Make a new request: an approval runs one action.",
}


class NotCanonicalError(TypeError):
    """A value that has no canonical JSON. The message names it."""


@dataclasses.dataclass(eq=False, repr=False)
class BondedError(Exception):
    """A failed call: the message says what happened, and `remedy` what to do.

    >>> BondedError("rate_limited", "Too many requests.").retryable
    True
    """

    code: str
    message: str
    _: dataclasses.KW_ONLY
    # The status of the answer. None: no answer came, or no call was made.
    status: int | None = None
    # The reason of the service's rejection.
    reason: str | None = None
    # The member that the service rejected, such as context.display.0.value.
    param: str | None = None
    # The service's page about the reason.
    doc_url: str | None = None
    # The address of the call, if something answered it.
    address: str | None = None
    # By it, the operator finds this call.
    request_id: str | None = None
    # The wait in seconds that the service requested.
    retry_after: float | None = None
    # Of a completion: the session had expired, and the service has kept the report of this time.
    reported_at: str | None = None

    def __post_init__(self) -> None:
        super().__init__(self.message)
        self.remedy = REMEDIES[self.code]

    def __str__(self) -> str:
        """All that a log needs, because most logs have no other member of the error."""
        known = (self.reason, self.param, self.request_id, self.doc_url or self.address)
        more = ", ".join(one for one in known if one)
        return super().__str__() + (f" ({more})" if more else "")

    @property
    def retryable(self) -> bool:
        """Whether the same call can succeed later without a change."""
        return self.code in ("service_unavailable", "rate_limited")


class ApprovalError(Exception):
    """Why an approval did not run. With `not_approved`, `reasons` has what the gate found."""

    def __init__(self, code: str, message: str, reasons: list[str] | None = None) -> None:
        super().__init__(message)
        self.code, self.remedy, self.reasons = code, APPROVAL_REMEDIES[code], reasons or []


class NotStarted(Exception):
    """Raise it in an action that has done nothing: its approval can be executed again.

    After any other error, the outcome of the action is unknown.
    """
