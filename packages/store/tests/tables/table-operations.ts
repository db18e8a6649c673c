import type { DeviceId, SessionId, SubjectId, TenantId } from '@bonded/contract'
import { DEVICE_MOVES } from '../../../core/src/domain/device-moves.ts'
import { newSession as pendingSession } from '../../../core/src/domain/new-session.ts'
import { policyOf } from '../../../core/src/domain/policy.ts'
import type { Due } from '../../../core/src/domain/retention.ts'
import type { Device, Session } from '../../../core/src/domain/session.ts'
import type { Tenant } from '../../../core/src/domain/tenant.ts'
import { MOVES } from '../../../core/src/protocol/states.ts'
import type { Tables } from '../../../core/src/ports/store.ts'
import type { DeviceToken } from '../../../core/src/ports/tables/device-table.ts'
import type { SubjectReference } from '../../../core/src/ports/tables/subject-table.ts'
import type { Work } from '../../../core/src/ports/work.ts'

export const NOW = 1_000_000
export const SESSIONS = ['sess_a', 'sess_b'] as SessionId[]
export const DEVICES = ['dev_a', 'dev_b', 'dev_c'] as DeviceId[]
export const TENANTS = ['ten_a', 'ten_b'] as TenantId[]
/** The tenants as `ADD_TENANTS` stores them. */
export const TENANT_ROWS = TENANTS.map(
  (id): Tenant => ({
    id,
    name: 'T',
    environment: 'sandbox',
    demo: false,
    origins: [],
    workflows: [],
  }),
)
/** A purge goes over the tenants. */
export const ADD_TENANTS = `insert into tenant
  (id, name, environment, demo, origins, workflows, created_at)
  values ${TENANTS.map((id) => `('${id}', 'T', 'sandbox', 0, '[]', '[]', 0)`).join()}`

/** The rows of this time or older. */
export function dueBy(time: number, limit: number): Due {
  return { now: time, usualMs: 0, min: 1, max: 1, limit }
}

/** The first two devices have one subject. */
export const SUBJECTS = ['sub_a', 'sub_a', 'sub_b'] as SubjectId[]
/** Each device begins with the token of its index. The others are offered. */
export const TOKENS = ['token_0', 'token_1', 'token_2', 'token_3', 'token_4']

const policy = policyOf({ name: 'w', actions: ['a'] })

export function newSession(id: SessionId, tenantId = TENANTS[0] as TenantId): Session {
  return pendingSession({
    id,
    tenantId,
    rootKeyId: 'k1',
    workflow: 'w',
    action: 'a',
    policy,
    createdAt: NOW,
    context: { display: [{ label: 'Amount', value: '1' }] },
    wantedSubjectRef: null,
    sealedPhoneNumber: 'sealed',
    endUserNetwork: null,
    notifies: false,
  })
}

export function newDevice(index: number): Device {
  return {
    id: DEVICES[index] as DeviceId,
    subjectId: SUBJECTS[index] as SubjectId,
    format: index === 2 ? 'webauthn' : 'software',
    keyId: `key_${index}`,
    publicKey: new Uint8Array([index]),
    environment: 'sandbox',
    status: 'active',
    appId: 'software',
    counter: 0,
    lastIssuedAt: null,
    createdAt: NOW,
  }
}

export function newToken(index: number): DeviceToken {
  return { id: TOKENS[index] as string, hash: new Uint8Array([index]), issuedAt: NOW + index }
}

/** What one operation works on, as indexes into the lists above. */
export interface Operands {
  readonly session: number
  readonly device: number
  readonly tenant: number
  readonly value: number
  /** Uses a session as an earlier operation saw it instead of the current one. */
  readonly outdated: boolean
}

/** The sessions as they were once seen, by id. */
export type Seen = Map<SessionId, Session>

type Operation = (tables: Tables, operands: Operands, seen: Seen) => Work<unknown>

const id = ({ session }: Operands) => SESSIONS[session] as SessionId
const deviceOf = ({ device }: Operands) => newDevice(device)

/** An operation on a session as it is stored now, or as it was seen before. */
function onSession(run: (tables: Tables, session: Session, of: Operands) => Work<unknown>) {
  return function* (tables: Tables, operands: Operands, seen: Seen): Work<unknown> {
    const before = operands.outdated ? seen.get(id(operands)) : undefined
    const session = before ?? (yield* tables.sessions.find(id(operands)))
    return session && (yield* run(tables, session, operands))
  }
}

function referenceOf({ tenant, device }: Operands): SubjectReference {
  return {
    tenantId: TENANTS[tenant] as TenantId,
    subjectId: SUBJECTS[device] as SubjectId,
    subjectRef: '',
    blockedAt: undefined,
    inboxPausedUntil: 0,
    inboxReports: 0,
  }
}

/** The operations that only read. */
export const READS: Readonly<Record<string, Operation>> = {
  find: (tables, operands) => tables.sessions.find(id(operands)),
  *look(tables, operands, seen) {
    const session = yield* tables.sessions.find(id(operands))
    if (session !== undefined && operands.value < 2) seen.set(session.id, session)
    return session
  },
  deviceStats: onSession((tables, session, of) =>
    tables.sessions.deviceStats(session, deviceOf(of)),
  ),
  device: (tables, { device }) => tables.devices.find(DEVICES[device] as DeviceId),
  token: (tables, { value }) => tables.devices.findByToken(TOKENS[value] as string),
  motion: (tables, { device }) => tables.devices.motion(DEVICES[device] as DeviceId),
  keys: (tables, { device }) => tables.subjects.keys(SUBJECTS[device] as SubjectId),
  family: (tables, { device }) => tables.subjects.family(SUBJECTS[device] as SubjectId),
  token_again: (tables, { device }) => tables.devices.findByToken(TOKENS[device] as string),
  held: (tables, { device }) => tables.sessions.pinnedTo(DEVICES[device] as DeviceId),
  timeline: (tables, operands) => tables.sessions.timeline(id(operands)),
}

const HINTS = ['scanned', 'evaluating', 'waiting_for_scan', 'step_up'] as const
const SESSION_MOVES = [MOVES.bond, MOVES.stepUp, MOVES.kill, MOVES.complete, MOVES.decline]

/** The operations that write. */
export const WRITES: Readonly<Record<string, Operation>> = {
  *create(tables, operands) {
    if ((yield* tables.sessions.find(id(operands))) !== undefined) return 'exists'
    yield* tables.sessions.create(newSession(id(operands), TENANTS[operands.tenant]))
    return 'created'
  },
  move: onSession((tables, session, { value, device }) =>
    tables.sessions.move(session, SESSION_MOVES[value] ?? MOVES.kill, {
      now: NOW + value,
      set: { deviceId: DEVICES[device] as DeviceId, subjectRef: `ref_${device}` },
    }),
  ),
  miss: onSession((tables, session) =>
    tables.sessions.countMiss(session, { now: NOW, stepUp: session.stepUp }),
  ),
  claim: onSession((tables, session, { value, device }) =>
    tables.sessions.claim(session, {
      now: NOW,
      deviceId: DEVICES[device] as DeviceId,
      nonce: `nonce_${value}`,
      claimedAt: NOW,
    }),
  ),
  hint: onSession((tables, session, { value }) =>
    tables.sessions.hint(session, HINTS[value] ?? 'scanned', NOW),
  ),
  report: onSession((tables, session, { value }) =>
    tables.sessions.reportLate(session, {
      now: NOW + value,
      outcome: value % 2 === 0 ? 'accepted' : null,
    }),
  ),
  origin: (tables, operands) =>
    tables.sessions.storeOrigin(id(operands), `https://${operands.value}.example`),
  *fail(tables, operands) {
    if ((yield* tables.sessions.find(id(operands))) === undefined) return undefined
    return yield* tables.sessions.countFailure(id(operands), DEVICES[operands.device] as DeviceId)
  },
  *expire(tables) {
    const now = NOW + policy.bondedTtlMs + policy.sessionTtlMs
    const found = yield* tables.sessions.overdue(now, 10)
    for (const session of found) yield* tables.sessions.move(session, MOVES.expire, { now })
    return found.map((session) => session.id).sort()
  },
  *suspend(tables, { tenant }) {
    const found = yield* tables.sessions.movable(TENANTS[tenant] as TenantId, MOVES.suspend, 10)
    for (const session of found) yield* tables.sessions.move(session, MOVES.suspend, { now: NOW })
    return found.map((session) => session.id).sort()
  },
  *purge(tables, { value }) {
    return yield* tables.sessions.purge(dueBy(NOW + 1e9, 1 + (value % 2)))
  },
  continuity: (tables, { tenant, device, value }) =>
    tables.sessions.storeContinuity({
      tenantId: TENANTS[tenant] as TenantId,
      deviceId: DEVICES[device] as DeviceId,
      mean: value / 3,
      now: NOW,
    }),
  completion: (tables, { tenant, device, value }) =>
    tables.sessions.storeCompletion({
      tenantId: TENANTS[tenant] as TenantId,
      deviceId: DEVICES[device] as DeviceId,
      now: NOW + value,
    }),
  pairwise: (tables, { tenant, device, value }) =>
    tables.devices.pairwise({
      tenantId: TENANTS[tenant] as TenantId,
      subjectId: SUBJECTS[device] as SubjectId,
      subjectRef: `ref_${tenant}_${device}_${value}`,
    }),
  counter: (tables, { device, value }) =>
    tables.devices.raiseCounter(DEVICES[device] as DeviceId, value, NOW + 5 - value),
  request: (tables, { device, value }) =>
    tables.devices.useRequest(DEVICES[device] as DeviceId, value, NOW + value),
  browserKey: (tables, { device, value }) =>
    tables.devices.setBrowserKey(DEVICES[device] as DeviceId, {
      keyId: `browser_${value}`,
      publicKey: Uint8Array.of(value, 2, 3),
      rpId: 'bond.example',
      counter: 0,
      backupEligible: value === 1,
      createdAt: NOW + value,
    }),
  noBrowserKey: (tables, { device }) =>
    tables.devices.removeBrowserKey(DEVICES[device] as DeviceId),
  browserCounter: (tables, { device, value }) =>
    tables.devices.raiseBrowserCounter(DEVICES[device] as DeviceId, `browser_${value}`, value),
  suspect: (tables, { device, value }) =>
    tables.devices.suspect(DEVICES[device] as DeviceId, NOW + 2 * value),
  *change(tables, { device, value }) {
    const moves = [DEVICE_MOVES.block, DEVICE_MOVES.unblock, DEVICE_MOVES.unblock]
    return yield* tables.devices.move(
      DEVICES[device] as DeviceId,
      moves[value] ?? DEVICE_MOVES.remove,
    )
  },
  offer: (tables, { device, value }) =>
    tables.devices.offerToken(DEVICES[device] as DeviceId, newToken(value)),
  begin: (tables, { device, value }) =>
    tables.devices.useToken(DEVICES[device] as DeviceId, TOKENS[value] as string),
  remember: (tables, { device, value }) =>
    tables.devices.storeMotion(DEVICES[device] as DeviceId, {
      keyId: 'k1',
      windows: [{ at: NOW, fingerprints: [value, 2 ** 30] }],
    }),
  block: (tables, { device }) => tables.subjects.block(SUBJECTS[device] as SubjectId, NOW),
  unblock: (tables, { device }) => tables.subjects.unblock(SUBJECTS[device] as SubjectId),
  blockAt: (tables, operands) => tables.subjects.blockAt(referenceOf(operands), NOW),
  unblockAt: (tables, operands) => tables.subjects.unblockAt(referenceOf(operands)),
}

/** Commits of another process, as an operator's command makes them. */
export const OUTSIDE_WRITES = [
  `update session set claimed_nonce = 'outside'`,
  `update session set state = 'killed', seq = seq + 1, ended_at = ${NOW} where id = 'sess_a'`,
  `update device set status = 'blocked' where id = 'dev_a'`,
  `update device set token_hash = x'ff', counter = counter + 1`,
  `insert into blocked_subject values ('sub_a', ${NOW}) on conflict do nothing`,
  'delete from blocked_subject',
  `update pairwise_subject set blocked_at = ${NOW}`,
  'update session_device set failures = failures + 1',
  `update device_continuity set mean = '0.125'`,
  `update device_continuity set completed_at = ${NOW}`,
  'delete from device_motion',
  `delete from session_device where session_key in (select session_key from session where ended_at is not null);
   delete from session where ended_at is not null`,
] as const

/** Deletes all rows, as the first commit of another process. */
export const EMPTY = `delete from session; delete from session_event; delete from session_device;
  delete from device; delete from device_motion; delete from device_receipt;
  delete from blocked_subject; delete from pairwise_subject; delete from device_continuity;`

/** Registers the devices, each with the token of its index. */
export function* registerDevices(tables: Tables): Work<void> {
  for (const index of DEVICES.keys())
    yield* tables.devices.register(newDevice(index), newToken(index))
}

/** Everything that the caches can answer. */
export function* readAll(tables: Tables): Work<unknown> {
  const found: unknown[] = []
  for (const [index, sessionId] of SESSIONS.entries()) {
    const session = yield* tables.sessions.find(sessionId)
    found.push(session)
    for (const tenantId of TENANTS)
      for (const device of DEVICES.keys())
        found.push(
          yield* tables.sessions.deviceStats(
            session ?? newSession(SESSIONS[index] as SessionId, tenantId),
            newDevice(device),
          ),
        )
  }
  for (const device of DEVICES)
    found.push(yield* tables.devices.find(device), yield* tables.devices.motion(device))
  for (const token of TOKENS) found.push(yield* tables.devices.findByToken(token))
  return found
}
