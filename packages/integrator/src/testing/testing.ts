import { eventTypesOf, makeId, Secret, type WebhookEvent } from '@bonded/contract'
import { type GateClock, systemRandom } from '../clock.ts'
import { GateError } from '../errors.ts'
import type { FetchLike } from '../service/call.ts'
import { signWebhook } from '../webhook/sign-webhook.ts'
import { checkOutcome, type TestOutcome } from './outcomes.ts'
import { TEST_CREDENTIAL, TEST_ORIGIN, TEST_TENANT_ID, TestService } from './test-service.ts'

export { everyOutcome, type SessionOutcome, TEST_REASONS, type TestOutcome } from './outcomes.ts'

const SWITCH = 'BONDED_TEST_DOUBLE'

/** The options of `createGate` that lead to the double. Its clock never waits. */
export interface TestServiceOptions {
  readonly baseUrl: string
  readonly serverCredential: string
  readonly fetch: FetchLike
  readonly clock: GateClock
}

/** One delivery to your webhook endpoint. */
export interface TestDelivery {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A double of the service, in the memory of your test. */
export interface TestBonded {
  /** What your gate needs: `createGate({ ...bonded.service, store })`. */
  readonly service: TestServiceOptions
  /** Answers create, get, form-completed, receipt, and `/.well-known/jwks.json`. */
  readonly fetch: FetchLike
  /** The value for `policy.tenant_id` and `verifyReceipt`. */
  readonly tenantId: string
  /** The value for `verifyWebhook`. */
  readonly webhookSecret: Secret
  /** What the service answers from now on, for each session that your gate has not completed. */
  set(outcome: TestOutcome): void
  /** Moves the time of the service and of the gate. A session ends after five minutes. */
  advance(ms: number): void
  /** The signed deliveries that announce the present state of a session: one, or two. */
  deliveries(session_id: string): Promise<readonly TestDelivery[]>
}

/**
 * A double of the service for your own tests: no server, no phone, no waiting. It approves every
 * session, or gives the outcome that you name. Create one for each test.
 *
 * @throws {GateError} `invalid_configuration` for an outcome that does not exist, and without
 * `BONDED_TEST_DOUBLE=on` in the environment
 * @example
 * process.env.BONDED_TEST_DOUBLE = 'on'
 * const bonded = testBonded({ state: 'killed', reason: 'user_declined' })
 * const gate = createGate({ ...bonded.service, store: memoryPendingStore() })
 */
export function testBonded(outcome: TestOutcome = { state: 'bonded' }): TestBonded {
  requireSwitch()
  checkOutcome(outcome)
  let aheadMs = 0
  const clock: GateClock = {
    now: () => Date.now() + aheadMs,
    sleep: async (ms) => void (aheadMs += ms),
    // The double always answers, so no attempt needs a limit.
    timeout: () => new AbortController().signal,
  }
  const service = new TestService(() => clock.now(), outcome)
  const { fetch } = service
  const webhookSecret = new Secret(`whsec_${btoa(String.fromCharCode(...systemRandom(32)))}`)
  return {
    service: { baseUrl: `${TEST_ORIGIN}/api/v1`, serverCredential: TEST_CREDENTIAL, fetch, clock },
    fetch,
    tenantId: TEST_TENANT_ID,
    webhookSecret,
    set(next) {
      checkOutcome(next)
      service.outcome = next
    },
    advance: (ms) => void (aheadMs += ms),
    deliveries: (session_id) =>
      Promise.all(
        eventsOf(service, session_id).map(async (event) => {
          const body = JSON.stringify(event)
          const sent = { id: event.id, sentAtMs: clock.now(), body }
          return { headers: await signWebhook(sent, webhookSecret), body }
        }),
      ),
  }
}

/**
 * A gate with this fetch accepts what no phone has approved, so only a process that says that it is
 * a test may have one. `NODE_ENV` says so in many spellings, or not at all.
 */
function requireSwitch(): void {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  if (process?.env?.[SWITCH] !== 'on')
    throw new GateError(
      'invalid_configuration',
      `testBonded approves every request, so it runs only with ${SWITCH}=on in the environment. Set it in your tests, and nowhere else.`,
    )
}

function eventsOf(service: TestService, session_id: string): readonly WebhookEvent[] {
  const stored = service.sessions.get(session_id)
  if (stored === undefined)
    throw new GateError('not_found', `This double has created no session ${session_id}.`)
  const {
    id,
    state,
    tenant_id,
    workflow,
    action,
    expires_at,
    hint,
    ended_reason,
    outcome,
    ...rest
  } = service.view(stored)
  const session = { id, state, tenant_id, workflow: workflow ?? '', action: action ?? '' }
  const { created_at } = stored
  const data = { session: { ...session, created_at, expires_at, hint, ended_reason, outcome } }
  return eventTypesOf(state, ended_reason).map((type) => ({
    type,
    id: makeId('evt', systemRandom(16)),
    sequence: rest.seq,
    timestamp: rest.server_time,
    data: type === 'session.reported' ? { ...data, advisory: true } : data,
  }))
}
