import { BODY_LIMITS } from './body-limits.ts'
import { define } from './endpoint.ts'
import {
  Inbox,
  InboxCount,
  OpenInboxRequest,
  ResumeInboxRequest,
  SetPushRequest,
} from './schemas/inbox.ts'

const SIGNED_REJECTIONS = [
  'device_not_usable',
  'issued_at_out_of_range',
  'assertion_invalid',
] as const

/** The endpoints of the requests that wait for a user. */
export const INBOX_ENDPOINTS = {
  countInbox: define({
    method: 'GET',
    path: '/api/v1/inbox',
    priority: 'new',
    summary: 'Returns how many requests wait for the user of the device.',
    callers: ['phone'],
    limits: ['phone'],
    responses: { count: InboxCount },
    rejections: [],
  }),
  openInbox: define({
    method: 'POST',
    path: '/api/v1/inbox',
    // The signature covers a counter, which the service accepts once.
    retry: 'rebuild',
    priority: 'begun',
    summary: 'Lists the requests that wait for the user, with a nonce for each, to the key itself.',
    callers: ['phone'],
    limits: ['device'],
    body: { schema: OpenInboxRequest, limitBytes: BODY_LIMITS.assertion },
    responses: { inbox: Inbox },
    rejections: SIGNED_REJECTIONS,
  }),
  resumeInbox: define({
    method: 'POST',
    path: '/api/v1/inbox/resume',
    status: 204,
    retry: 'rebuild',
    priority: 'begun',
    summary: 'Ends the pause of a tenant in the inbox of the user.',
    callers: ['phone'],
    limits: ['device'],
    body: { schema: ResumeInboxRequest, limitBytes: BODY_LIMITS.assertion },
    rejections: [...SIGNED_REJECTIONS, 'key_too_new'],
  }),
  setPush: define({
    method: 'POST',
    path: '/api/v1/inbox/push',
    status: 204,
    retry: 'rebuild',
    priority: 'begun',
    summary: 'Sets where the push service of the phone wakes it for a request in the inbox.',
    callers: ['phone'],
    limits: ['device'],
    body: { schema: SetPushRequest, limitBytes: BODY_LIMITS.assertion },
    rejections: SIGNED_REJECTIONS,
  }),
} as const
