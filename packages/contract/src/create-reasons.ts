import { coded } from './error-codes.ts'

/** Why a session is not created. */
export const CREATE_REASONS = {
  ...coded('invalid_request', {
    workflow_unknown: 'The tenant has no such workflow.',
    action_unknown: 'The workflow has no such action.',
    workflow_required: 'The credential allows several workflows. Name one.',
    action_required: 'The workflow has several actions. Name one.',
    subject_required: 'This workflow is for known users. Send subject_ref.',
    quorum_required:
      'This workflow needs several people. Create a quorum with at least as many in needed.',
    requester_required: 'This workflow shows the user who asks. Send context.requester.',
    subject_has_no_phone:
      'No phone of this user can approve the request. Use a page for the next request.',
  }),
  ...coded('rate_limited', {
    inbox_full:
      'Too many requests of this tenant or this credential wait for the user. See Retry-After.',
  }),
  ...coded('invalid_request', {
    inbox_paused: 'The user has reported a request of this tenant. See Retry-After.',
    idempotency_mismatch: 'This Idempotency-Key was already used with another body.',
  }),
}

/** What a create can be rejected with. */
export const CREATE_REJECTIONS = [
  ...(Object.keys(CREATE_REASONS) as (keyof typeof CREATE_REASONS)[]),
  'key_of_another_tenant',
  'workflow_not_enabled',
  'action_not_enabled',
  'tenant_suspended',
] as const
