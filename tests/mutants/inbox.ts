import { against, CORE, SERVER, STORE } from './against.ts'
import type { Mutant } from './mutant.ts'

const ATTACKS = `${SERVER}/tests/api/inbox-attacks.test.ts`
const AGENT = `${SERVER}/tests/api/agent-attacks.test.ts`
const WAKE_UPS = `${SERVER}/tests/api/wake-ups.test.ts`
const LIMITS = `${SERVER}/tests/api/inbox-limits.test.ts`

/** Mutants that let another phone approve what waits in an inbox, or a tenant ask too often. */
export const INBOX: readonly Mutant[] = [
  ...against('forged', [
    [
      'the nonce of a page opens a request of an inbox',
      `${CORE}/src/operations/service.ts`,
      'isInbox(session) ? keys.inboxNonces(rootKeyId, id, device.id) : ',
      'isInbox(session) && device.id === undefined ? keys.inboxNonces(rootKeyId, id, device.id) : ',
      ATTACKS,
      'the nonce of the page',
    ],
    [
      'a nonce of an inbox opens a request on each phone of the user',
      `${SERVER}/src/adapters/keys/keyring.ts`,
      '`${sessionId}.i${deviceId}.${index}`',
      '`${sessionId}.i${deviceId.slice(0, 4)}.${index}`',
      ATTACKS,
      'a nonce opens a request on one phone',
    ],
    [
      'a phone serves what waited before it was registered',
      `${CORE}/src/protocol/checks.ts`,
      'isInbox(session) && session.createdAt < servesInboxFrom(device)',
      'isInbox(session) && session.createdAt < servesInboxFrom({ ...device, createdAt: 0 })',
      ATTACKS,
      'a phone that was added after',
    ],
    [
      'an added phone serves an inbox at once',
      `${CORE}/src/domain/inbox.ts`,
      '? 1 : ADDED_PHONE_WAIT_MS',
      '? 1 : ADDED_PHONE_WAIT_MS - ADDED_PHONE_WAIT_MS',
      ATTACKS,
      'a phone that was added after',
    ],
    [
      'a young passkey is seasoned',
      `${CORE}/src/domain/key-rules.ts`,
      'isOld && hasCompleted',
      'hasCompleted',
      AGENT,
      'a passkey serves no request',
    ],
    [
      'a passkey without a completed bond is seasoned',
      `${CORE}/src/domain/key-rules.ts`,
      'isOld && hasCompleted',
      'isOld',
      AGENT,
      'a passkey serves no request',
    ],
    [
      'a request of an agent does not say who asks',
      `${CORE}/src/operations/create-session.ts`,
      "workflow.requester === 'required' && requester === undefined",
      "workflow.requester === 'required' && requester?.name === ''",
      AGENT,
      'a request without a requester',
    ],
    [
      'a phone that was just added ends a pause',
      `${CORE}/src/protocol/checks.ts`,
      "resume('newly_added', 'key_too_new', (f) => isNewlyAdded(f.device, f.now))",
      "resume('newly_added', 'key_too_new', (f) => isNewlyAdded(f.device, Infinity))",
      LIMITS,
      'the user ends a pause',
    ],
  ]),
  ...against('doubled', [
    [
      'an Idempotency-Key of a request of a day ends with those of pages',
      `${CORE}/src/domain/lifetimes.ts`,
      'Math.max(0, session.sessionTtlMs',
      'Math.min(0, session.sessionTtlMs',
      LIMITS,
      'an Idempotency-Key of a request',
    ],
    [
      'a tenant asks again at once after a decline',
      `${CORE}/src/domain/inbox.ts`,
      'waitUntil(past, now))',
      'waitUntil([], now))',
      LIMITS,
      'after requests without an approval',
    ],
    [
      'six requests of a tenant wait for a user',
      `${CORE}/src/domain/inbox.ts`,
      'open.length >= MAX_WAITING',
      'open.length > MAX_WAITING',
      LIMITS,
      'at most five requests',
    ],
    [
      'a report pauses no tenant',
      `${CORE}/src/operations/admit-to-inbox.ts`,
      'if (now < inboxPausedUntil)',
      'if (now < inboxPausedUntil - now)',
      LIMITS,
      'a report ends the other requests',
    ],
    [
      'a tenant wakes a user with each request',
      `${STORE}/src/tables/push-table.ts`,
      'and not (${COUNTS})',
      'and (true or not (${COUNTS}))',
      WAKE_UPS,
      'one tenant wakes',
    ],
    [
      'all tenants together wake a user more often',
      `${STORE}/src/tables/push-table.ts`,
      'and ${COUNTS}) < $5',
      'and ${COUNTS}) < $5 + 1',
      WAKE_UPS,
      'one tenant wakes',
    ],
    [
      'a request wakes a phone that may not serve it',
      `${CORE}/src/operations/wake-phones.ts`,
      'if (yield* mayServe(service, tables, { session, tenant, device }))',
      'if ((yield* mayServe(service, tables, { session, tenant, device })) || found)',
      WAKE_UPS,
      'a phone that may not serve',
    ],
    [
      'a phone names any host as its push service',
      `${SERVER}/src/adapters/push/push-transport.ts`,
      'known.find((name) => isHostOf(name, host))',
      'known.find((name) => isHostOf(name, host) || name)',
      WAKE_UPS,
      'an endpoint is a public',
    ],
    [
      'a recovered phone is woken where it was before',
      `${CORE}/src/operations/recover-device.ts`,
      'yield* tables.push.subscribe(device, null)',
      '',
      WAKE_UPS,
      'removal, block, recovery',
    ],
  ]),
]
