import { Requester } from './context.ts'
import { AppAttest } from './evidence.ts'
import { closed, GivenTime, id, Milliseconds, nullable, Timestamp } from './primitives.ts'
import { type Static, Type } from './type.ts'
import { Titles } from './workflow.ts'

/** What a device token alone reads. */
export const InboxCount = closed({
  server_time: Timestamp,
  waiting: Type.Integer({
    minimum: 0,
    description: 'How many requests wait for the user and are open to this phone.',
  }),
})
export type InboxCount = Static<typeof InboxCount>

/** Opens the inbox, by an assertion over `bonded-inbox/v1`. */
export const OpenInboxRequest = closed({
  issued_at: GivenTime,
  app_attest: AppAttest,
  cursor: Type.Optional(
    nullable({
      ...id('sess'),
      description: 'The `cursor` of the page before. Omit for the first.',
    }),
  ),
})
export type OpenInboxRequest = Static<typeof OpenInboxRequest>

const InboxItem = closed({
  session_id: id('sess'),
  nonce: Type.String({
    description: 'Opens the request on this phone only, for two to four minutes.',
  }),
  tenant_name: Type.String(),
  workflow_title: nullable(Titles),
  action_title: nullable(Titles),
  requester: nullable(Requester),
  created_at: Timestamp,
  expires_in_ms: Milliseconds,
})
export type InboxItem = Static<typeof InboxItem>

/** A tenant whose requests wait until the user or the time ends the pause. */
const InboxPause = closed({
  tenant_id: id('ten'),
  tenant_name: Type.String(),
  paused_until: Timestamp,
})
export type InboxPause = Static<typeof InboxPause>

/** How this phone can be woken. */
export const InboxPush = closed({
  public_key: Type.String({
    description:
      'The `applicationServerKey` of the subscription: an uncompressed P-256 point, base64url.',
  }),
  is_on: Type.Boolean({ description: 'Whether the service wakes this phone.' }),
})
export type InboxPush = Static<typeof InboxPush>

export const Inbox = closed({
  server_time: Timestamp,
  items: Type.Array(InboxItem, {
    description: 'At most 20. Those of one tenant do not push out those of another.',
  }),
  cursor: nullable(Type.String({ description: 'Of the next page; null on the last one.' })),
  paused: Type.Array(InboxPause),
  push: Type.Optional(nullable(InboxPush)),
})
export type Inbox = Static<typeof Inbox>

/** Ends the pause of a tenant, by an assertion over `bonded-inbox-resume/v1`. */
export const ResumeInboxRequest = closed({
  tenant_id: id('ten'),
  issued_at: GivenTime,
  app_attest: AppAttest,
})
export type ResumeInboxRequest = Static<typeof ResumeInboxRequest>

/** Sets where the phone is woken, by an assertion over `bonded-device-push/v1`. */
export const SetPushRequest = closed({
  endpoint: nullable(
    Type.String({
      maxLength: 1024,
      pattern: '^https://[!-~]+$',
      description:
        'The `endpoint` of a subscription with `push.public_key`; null ends it. It replaces an earlier one.',
    }),
  ),
  issued_at: GivenTime,
  app_attest: AppAttest,
})
export type SetPushRequest = Static<typeof SetPushRequest>
