import { randomBytes } from 'node:crypto'
import {
  createGate,
  type GateClock,
  type GatePolicy,
  type MemoryTransaction,
  memoryPendingStore,
  type PendingStore,
} from '../src/index.ts'
import { BASE_URL, fakeService, SERVER_CREDENTIAL } from './fake-service.ts'

export const START_MS = Date.parse('2026-11-21T09:30:00.000Z')
export const WORKFLOW = { workflow: 'credit_application', action: 'submit_application' } as const
export const OWNER = 'login-1'
/** The digest of a form. */
export const DIGEST = 'd'.repeat(43)
/** A bond that a gate creates. */
export const BOND = { ...WORKFLOW, owner: OWNER, context: { display: [], digest: DIGEST } }

/** A clock that a test advances, and that every sleep advances. */
export function movedClock() {
  let nowMs = START_MS
  const slept: number[] = []
  const clock: GateClock = {
    now: () => nowMs,
    sleep: async (ms) => {
      slept.push(ms)
      nowMs += ms
    },
    timeout: () => AbortSignal.abort(new DOMException('timed out', 'TimeoutError')),
  }
  return { ...clock, slept, advance: (ms: number) => void (nowMs += ms) }
}

/** A gate on a fake service, a memory store and a clock that is moved. */
export function harness(
  options: {
    policy?: GatePolicy
    store?: PendingStore<MemoryTransaction>
    serviceAheadMs?: number
  } = {},
) {
  const clock = movedClock()
  const service = fakeService(() => clock.now() + (options.serviceAheadMs ?? 0))
  const store = options.store ?? memoryPendingStore()
  const gate = createGate({
    baseUrl: BASE_URL,
    serverCredential: SERVER_CREDENTIAL,
    store,
    clock,
    fetch: service.fetch,
    random: (length) => randomBytes(length),
    ...(options.policy && { policy: options.policy }),
  })

  /** A session that the phone has approved, and the submit that goes with it. */
  async function bonded({
    digest = DIGEST,
    subject_ref,
  }: {
    digest?: string
    subject_ref?: string
  } = {}) {
    const { session } = await gate.create({
      ...WORKFLOW,
      owner: OWNER,
      context: { display: [], digest },
      ...(subject_ref && { subject_ref }),
    })
    service.bond(session.id)
    return { session_id: session.id, owner: OWNER, ...WORKFLOW, form_digest: digest }
  }

  /** An approved session whose context has no digest, and the submit that opts out of one. */
  async function unbound() {
    const optOut = { acceptAnyContext: true } as const
    const context = { display: [{ label: 'Amount', value: '€1' }] }
    const { session } = await gate.create({ ...WORKFLOW, owner: OWNER, context, ...optOut })
    service.bond(session.id)
    return { session_id: session.id, owner: OWNER, ...WORKFLOW, ...optOut }
  }

  return { gate, service, store, clock, bonded, unbound }
}
