/** Why a session is not created. */
export const CREATE_REASONS = {
  workflow_unknown: { code: 'invalid_request', message: 'The tenant has no such workflow.' },
  action_unknown: { code: 'invalid_request', message: 'The workflow has no such action.' },
  workflow_required: {
    code: 'invalid_request',
    message: 'The credential allows several workflows. Name one.',
  },
  action_required: {
    code: 'invalid_request',
    message: 'The workflow has several actions. Name one.',
  },
  subject_required: {
    code: 'invalid_request',
    message: 'This workflow is for known users. Send subject_ref.',
  },
  requester_required: {
    code: 'invalid_request',
    message: 'This workflow shows the user who asks. Send context.requester.',
  },
  subject_has_no_phone: {
    code: 'invalid_request',
    message: 'No phone of this user can approve the request. Use a page for the next request.',
  },
  inbox_full: {
    code: 'rate_limited',
    message:
      'Too many requests of this tenant or this credential wait for the user. See Retry-After.',
  },
  inbox_paused: {
    code: 'invalid_request',
    message: 'The user has reported a request of this tenant. See Retry-After.',
  },
  idempotency_mismatch: {
    code: 'invalid_request',
    message: 'This Idempotency-Key was already used with another body.',
  },
} as const

/** What a create can be rejected with. */
export const CREATE_REJECTIONS = [
  'workflow_unknown',
  'action_unknown',
  'workflow_required',
  'action_required',
  'subject_required',
  'requester_required',
  'subject_has_no_phone',
  'inbox_full',
  'inbox_paused',
  'idempotency_mismatch',
  'key_of_another_tenant',
  'workflow_not_enabled',
  'action_not_enabled',
  'tenant_suspended',
] as const
