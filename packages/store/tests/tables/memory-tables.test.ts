import assert from 'node:assert/strict'
import { test } from 'node:test'
import type {
  DeviceId,
  QuorumId,
  RequestId,
  SessionId,
  SubjectId,
  TenantId,
} from '@bonded/contract'
import { fc } from '../../../../tests/random.ts'
import { DEVICE_MOVES } from '../../../core/src/domain/device-moves.ts'
import type { Session } from '../../../core/src/domain/session.ts'
import type { Tables } from '../../../core/src/ports/store.ts'
import type { Work } from '../../../core/src/ports/work.ts'
import { MOVES } from '../../../core/src/protocol/states.ts'
import { memoryDriver, sqlDriver } from './table-drivers.ts'
import {
  DEVICES,
  newDevice,
  newSession,
  NOW,
  registerDevices,
  SUBJECTS,
  TENANTS,
} from './table-operations.ts'

/*
 * The store in memory is written without SQL, so it is the expected value of every statement: each
 * history runs on both, and each call must return the same.
 */

const SESSIONS = ['sess_a', 'sess_b', 'sess_c', 'sess_d'] as SessionId[]
const CALLERS = ['key_a', 'key_b'] as const
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

interface Call {
  readonly name: string
  readonly session: number
  readonly device: number
  readonly tenant: number
  readonly value: number
  /** How long after the call before. Each call has another time, so that no order is open. */
  readonly afterMs: number
}

type At = Omit<Call, 'name' | 'afterMs'> & { readonly now: number }
type Operation = (tables: Tables, at: At) => Work<unknown>

const sessionId = ({ session }: At) => SESSIONS[session] as SessionId
const deviceId = ({ device }: At) => DEVICES[device] as DeviceId
const subjectId = ({ device }: At) => SUBJECTS[device] as SubjectId
const tenantId = ({ tenant }: At) => TENANTS[tenant] as TenantId

function onSession(run: (tables: Tables, session: Session, at: At) => Work<unknown>): Operation {
  return function* (tables, at) {
    const session = yield* tables.sessions.find(sessionId(at))
    return session && (yield* run(tables, session, at))
  }
}

const sortedBy = <T>(list: readonly T[], nameOf: (each: T) => string) =>
  list.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))

const DEVICE_CALLS: Readonly<Record<string, Operation>> = {
  addKey: ({ devices }, at) =>
    devices.addKey(
      {
        ...newDevice(at.device),
        id: `dev_new_${at.value}` as DeviceId,
        keyId: `new_key_${at.value}`,
        addedBy: deviceId(at),
        createdAt: at.now,
      },
      { id: `new_token_${at.value}`, hash: Uint8Array.of(9, at.value), issuedAt: at.now },
      2 + at.session,
    ),
  findByKey: ({ devices }, at) => devices.findByKey(`key_${at.device}`),
  findByToken: ({ devices }, { device, value }) =>
    devices.findByToken(value < 2 ? `token_${device}` : `token_${device}_${value}`),
  offerToken: ({ devices }, at) =>
    devices.offerToken(deviceId(at), {
      id: `token_${at.device}_${at.value}`,
      hash: Uint8Array.of(at.value, at.session),
      issuedAt: at.now,
    }),
  useToken: ({ devices }, at) => devices.useToken(deviceId(at), `token_${at.device}_${at.value}`),
  counter: ({ devices }, at) => devices.raiseCounter(deviceId(at), at.value, NOW + at.session),
  request: ({ devices }, at) => devices.useRequest(deviceId(at), at.value, NOW + at.session),
  suspect: ({ devices }, at) => devices.suspect(deviceId(at), NOW + at.value),
  browserKey: ({ devices }, at) =>
    devices.setBrowserKey(deviceId(at), {
      keyId: at.session === 0 ? `key_${at.value}` : `browser_${at.value}`,
      publicKey: Uint8Array.of(at.value, 7),
      rpId: `browser${at.session}.example`,
      counter: at.session,
      backupEligible: at.tenant === 1,
      createdAt: at.now,
    }),
  noBrowserKey: ({ devices }, at) => devices.removeBrowserKey(deviceId(at)),
  browserCounter: ({ devices }, at) =>
    devices.raiseBrowserCounter(deviceId(at), `browser_${at.value}`, at.session),
  block: ({ devices }, at) => devices.move(deviceId(at), DEVICE_MOVES.block),
  unblock: ({ devices }, at) => devices.move(deviceId(at), DEVICE_MOVES.unblock),
  remove: ({ devices }, at) => devices.move(deviceId(at), DEVICE_MOVES.remove),
  rpIds: ({ devices }) => devices.rpIds(),
  record: ({ devices }, at) =>
    devices.record(deviceId(at), {
      at: at.now,
      kind: (
        ['key_added', 'key_removed', 'browser_key_added', 'browser_key_removed', 'suspect'] as const
      )[at.value] as never,
      step: at.tenant === 0 ? null : `step ${at.session}`,
    }),
  events: ({ devices }, at) => devices.events(deviceId(at)),
  keysChangedAt: ({ devices }, at) => devices.keysChangedAt(deviceId(at)),
  recent({ devices }, at) {
    const status = (['active', 'suspect', 'blocked', 'removed'] as const)[at.value]
    return devices.recent({
      ...(status === undefined ? {} : { status }),
      ...(at.tenant === 0 ? {} : { subjectId: subjectId(at) }),
      limit: 1 + at.session,
    })
  },
  useChallenge: ({ devices }, at) => devices.useChallenge(`c${at.value}`, at.now + at.session),
  purgeChallenges: ({ devices }, at) => devices.purgeChallenges(at.now, 1 + at.session),
  storeMotion: ({ devices }, at) =>
    devices.storeMotion(deviceId(at), {
      keyId: `k${at.value}`,
      windows: Array.from({ length: at.session }, (_, index) => ({
        at: 1_795_253_400_123 + index,
        fingerprints: [at.value, 2 ** 32 - 1 - index],
      })),
    }),
  motion: ({ devices }, at) => devices.motion(deviceId(at)),
  pairwise: ({ devices }, at) =>
    devices.pairwise({
      tenantId: tenantId(at),
      subjectId: subjectId(at),
      subjectRef: `ref_${at.tenant}_${at.value}`,
    }),
}

const SUBJECT_CALLS: Readonly<Record<string, Operation>> = {
  keys: ({ subjects }, at) => subjects.keys(subjectId(at)),
  family: ({ subjects }, at) => subjects.family(subjectId(at)),
  blockedAt: ({ subjects }, at) => subjects.blockedAt(subjectId(at)),
  blockSubject: ({ subjects }, at) => subjects.block(subjectId(at), at.now),
  unblockSubject: ({ subjects }, at) => subjects.unblock(subjectId(at)),
  findSubject: ({ subjects }, at) =>
    subjects.find(at.session === 0 ? undefined : tenantId(at), `ref_${at.tenant}_${at.value}`),
  references: ({ subjects }, at) => subjects.references(subjectId(at)),
  *lastBonds({ subjects }, at) {
    const of = { tenantId: tenantId(at), subjectId: subjectId(at) } as never
    const found = yield* subjects.lastBonds(of)
    return sortedBy([...found], ([id]) => id)
  },
  blockAt: ({ subjects }, at) =>
    subjects.blockAt({ tenantId: tenantId(at), subjectId: subjectId(at) }, at.now),
  unblockAt: ({ subjects }, at) =>
    subjects.unblockAt({ tenantId: tenantId(at), subjectId: subjectId(at) }),
  takeKey: ({ idempotency }, at) =>
    idempotency.take({
      tenantId: tenantId(at),
      key: `key ${at.value}`,
      bodyMac: `mac ${at.session}`,
      rootKeyId: `k${at.device}`,
      session: { ...newSession(sessionId(at)), createdAt: at.now },
    }),
  *findKey({ idempotency }, at) {
    const found = yield* idempotency.find(tenantId(at), `key ${at.value}`)
    return found && [found.bodyMac, found.rootKeyId, found.sessionId]
  },
  releaseKey: ({ idempotency }, at) =>
    idempotency.release(tenantId(at), `key ${at.value}`, sessionId(at)),
  purgeKeys: ({ idempotency }, at) => idempotency.purge(at.now - at.value * 100, 1 + at.session),
}

const SESSION_CALLS: Readonly<Record<string, Operation>> = {
  create: ({ sessions }, at) =>
    sessions.create({
      ...newSession(sessionId(at), tenantId(at)),
      createdAt: at.now,
      expiresAt: at.now + (1 + at.value) * MINUTE_MS,
      pendingUntil: at.now + MINUTE_MS,
      inboxSubjectId: at.value === 0 ? null : subjectId(at),
      quorumId: at.value < 3 ? null : (`quo_${at.value}` as QuorumId),
      wantedSubjectRef: at.value === 4 ? 'wanted' : null,
    }),
  find: ({ sessions }, at) => sessions.find(sessionId(at)),
  bond: onSession(({ sessions }, session, at) =>
    sessions.move(session, MOVES.bond, {
      now: at.now,
      set: {
        bondedAt: at.now,
        deviceId: deviceId(at),
        subjectRef: `ref_${at.value}`,
        verification: { device_possession: true } as never,
        bondDigest: `digest ${at.value}`,
        bondProof: { payload: `signed ${at.value}` } as never,
      },
    }),
  ),
  complete: onSession(({ sessions }, session, at) =>
    sessions.move(session, MOVES.complete, {
      now: at.now,
      set: { completedAt: at.now, outcome: at.value < 2 ? 'accepted' : 'in_review' },
    }),
  ),
  stepUp: onSession(({ sessions }, session, at) =>
    sessions.move(session, MOVES.stepUp, {
      now: at.now,
      set: { stepUp: { required: ['carrier'], attempts_left: at.value, reasons: [] } },
    }),
  ),
  decline: onSession(({ sessions }, session, at) =>
    sessions.move(session, at.value < 2 ? MOVES.decline : MOVES.declineUnexpected, {
      now: at.now,
      set: { declineNote: `note ${at.value}` },
    }),
  ),
  kill: onSession(({ sessions }, session, at) =>
    sessions.move(session, MOVES.kill, { now: at.now }),
  ),
  miss: onSession(({ sessions }, session, at) =>
    sessions.countMiss(session, { now: at.now, stepUp: session.stepUp }),
  ),
  claim: onSession(({ sessions }, session, at) =>
    sessions.claim(session, {
      now: at.now,
      deviceId: deviceId(at),
      nonce: `nonce_${at.value}`,
      claimedAt: at.now,
    }),
  ),
  hint: onSession(({ sessions }, session, at) =>
    sessions.hint(
      session,
      (['scanned', 'evaluating', 'step_up', 'browser', 'waiting_for_scan'] as const)[at.value] ??
        'scanned',
      at.now,
    ),
  ),
  withdraw: onSession(({ sessions }, session) => sessions.withdraw(session)),
  late: onSession(({ sessions }, session, at) =>
    sessions.reportLate(session, { now: at.now, outcome: at.value < 3 ? 'accepted' : null }),
  ),
  origin: ({ sessions }, at) => sessions.storeOrigin(sessionId(at), `https://${at.value}.example`),
  note: ({ sessions }, at) =>
    sessions.note(sessionId(at), {
      at: at.now,
      kind: at.value < 3 ? 'refused' : 'carrier',
      ...(at.value === 1 ? {} : { reason: at.value === 4 ? 'policy_not_met' : 'reason' }),
      ...(at.device === 0 ? {} : { step: `step ${at.device}` }),
      ...(at.value === 2 ? { subjectRef: 'noted' } : {}),
      ...(at.device === 2 ? { by: deviceId(at) } : {}),
    }),
  timeline: ({ sessions }, at) => sessions.timeline(sessionId(at)),
  eventsAfter: ({ sessions }, at) => sessions.eventsAfter(sessionId(at), at.value),
  *fail({ sessions }, at) {
    if ((yield* sessions.find(sessionId(at))) === undefined) return undefined
    return yield* sessions.countFailure(sessionId(at), deviceId(at))
  },
  stats: onSession(({ sessions }, session, at) =>
    sessions.deviceStats(session, newDevice(at.device)),
  ),
  claimReceipts: ({ sessions }, at) =>
    sessions.claimReceipts({
      now: at.now,
      until: at.now + at.value * 1_000,
      limit: 1 + at.session,
    }),
  receiptMade: onSession(({ sessions }, session, at) =>
    sessions.receiptMade({ ...session, seq: session.seq - (at.value === 0 ? 1 : 0) }),
  ),
  overdue: ({ sessions }, at) => sessions.overdue(at.now, 1 + at.session),
  *expire({ sessions }, at) {
    const found = yield* sessions.overdue(at.now, 1 + at.session)
    for (const session of found) yield* sessions.move(session, MOVES.expire, { now: at.now })
    return found.length
  },
  movable: ({ sessions }, at) =>
    sessions.movable(tenantId(at), at.value < 2 ? MOVES.suspend : MOVES.kill, 1 + at.session),
  *ofQuorum({ sessions }, at) {
    const found = yield* sessions.ofQuorum(`quo_${at.value}` as QuorumId)
    return sortedBy(found, ({ id }) => id)
  },
  *pinnedTo({ sessions }, at) {
    return sortedBy(yield* sessions.pinnedTo(deviceId(at)), ({ id }) => id)
  },
  waiting: ({ sessions }, at) =>
    sessions.waiting({
      device: newDevice(at.device),
      from: at.now - at.value * HOUR_MS,
      now: at.now,
    }),
  countWaiting: ({ sessions }, at) =>
    sessions.countWaiting({ device: newDevice(at.device), from: at.now - HOUR_MS, now: at.now }),
  *inboxHistory({ sessions }, at) {
    const now = at.now + (at.value - 2) * 24 * HOUR_MS
    return sortedBy(yield* sessions.inboxHistory(tenantId(at), subjectId(at), now), ({ id }) => id)
  },
  askedSince: ({ sessions }, at) =>
    sessions.askedSince({
      tenantId: tenantId(at),
      subjectId: subjectId(at),
      caller: CALLERS[at.session % 2] as string,
      now: at.now + at.value * 12 * HOUR_MS,
    }),
  countRequest: onSession(({ sessions }, session, at) =>
    session.inboxSubjectId === null
      ? sessions.timeline(session.id)
      : sessions.countRequest(
          session,
          (['asked', 'asked', 'withdrawn', 'declined', 'approved'] as const)[at.value] ?? 'asked',
        ),
  ),
  continuity: ({ sessions }, at) =>
    sessions.storeContinuity({
      tenantId: tenantId(at),
      deviceId: deviceId(at),
      mean: at.value / 7,
      now: at.now,
    }),
  completion: ({ sessions }, at) =>
    sessions.storeCompletion({ tenantId: tenantId(at), deviceId: deviceId(at), now: at.now }),
  *rejections({ rejections }, at) {
    const query = [
      {},
      { sessionId: sessionId(at) },
      { subjectRef: 'wanted' },
      { subjectRef: 'noted', tenantId: tenantId(at) },
      { reason: 'reason', tenantId: tenantId(at) },
    ][at.value]
    const page = yield* rejections.list({ ...query, limit: 1 + at.session } as never)
    const { next } = page
    return { ...page, next: next && [next.at, next.requestId] }
  },
}

const CALLS = { ...DEVICE_CALLS, ...SUBJECT_CALLS, ...SESSION_CALLS }

const callsOf = (names: readonly string[]): fc.Arbitrary<Call> =>
  fc.record({
    name: fc.constantFrom(...names),
    session: fc.nat(SESSIONS.length - 1),
    device: fc.nat(DEVICES.length - 1),
    tenant: fc.nat(TENANTS.length - 1),
    value: fc.nat(4),
    afterMs: fc.constantFrom(1, 2, 3, 20_000, MINUTE_MS),
  })

/** What JSON has of an answer, so that a missing member and an undefined one are the same. */
function plain(value: unknown): unknown {
  const text = JSON.stringify(value ?? null, (_, member: unknown) =>
    member instanceof Uint8Array ? [...member] : member,
  )
  return JSON.parse(text)
}

for (const [kind, calls, runs] of [
  ['devices and subjects', { ...DEVICE_CALLS, ...SUBJECT_CALLS }, 24],
  ['sessions', SESSION_CALLS, 30],
  ['all tables', CALLS, 6],
] as const)
  test(`the SQL of ${kind} answers every call as the store in memory does`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(callsOf(Object.keys(calls)), { minLength: 80, maxLength: 80 }),
        async (history) => {
          await using sql = sqlDriver()
          await using memory = memoryDriver()
          for (const driver of [sql, memory]) await driver.write(registerDevices)
          let now = NOW
          for (const [index, { name, afterMs, ...operands }] of history.entries()) {
            now += afterMs
            const cause = {
              requestId: `req_${index}` as RequestId,
              keyId: CALLERS[index % 2] as string,
            }
            const answerOf = (driver: typeof memory) =>
              driver
                .write(
                  (tables) => CALLS[name as keyof typeof CALLS]!(tables, { ...operands, now }),
                  cause,
                )
                .then(plain, () => 'failed')
            const expected = await answerOf(memory)
            assert.deepEqual(await answerOf(sql), expected, `${index}: ${name}`)
          }
        },
      ),
      { numRuns: runs, endOnFailure: true },
    )
  })
