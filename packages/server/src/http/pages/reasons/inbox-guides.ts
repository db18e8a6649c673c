import { guides } from './guide.ts'

/** The guides of the reasons why a request does not get into an inbox. */
export const INBOX_REASON_GUIDES = {
  ...guides('corrected', {
    quorum_required: [
      'The workflow has `quorum`, so that one user alone approves nothing, or `needed` is below its `needed`.',
      'Create the request by `POST /quorums`, with at least that many in `needed`.',
    ],
    requester_required: [
      'The workflow has `requester: required`, for example by the preset `agent`, and the context has no `requester`.',
      'Send `context.requester` with the `kind` (`person`, `service` or `agent`) and the `name` of what asks the user.',
    ],
  }),
  ...guides('unchanged', {
    inbox_full: [
      'Five requests of this tenant wait for the user, or four of this credential. After four requests that ended without an answer, a credential has one place until the user approves or declines one.',
      'Wait until the user has answered one, or delete one that is no longer needed. `Retry-After` is when a create succeeds if none of that happens: it includes the wait after the requests that expire until then.',
    ],
    inbox_paused: [
      'The user reported a request of this tenant as one that they did not start. The first report pauses the tenant for an hour, each further one for a day.',
      'Find out who made the reported request: your own backend may be compromised. The user can end the pause on the phone, and the operator of the service by `bonded subject resume-inbox`. `Retry-After` is the rest of the pause, and of the wait after requests without an approval where that is longer.',
    ],
  }),
  ...guides('no', {
    subject_has_no_phone: [
      'The tenant knows no user by this `subject_ref`, the user has no phone, or none of the phones may approve requests of this workflow: they are blocked, of another format, or were added less than 72 hours ago. With `webauthn: seasoned` a passkey without attestation must also be 7 days old, and have completed a bond with the tenant.',
      'Ask for the next approval on a page. The first bond of a user with a tenant is always made there.',
    ],
  }),
}
