import { randomBytes } from 'node:crypto'
import { encodeBase62, type FullSession, makeId, type PulseVerification } from '@bonded/contract'
import type { FetchLike, ResponseLike } from '../src/index.ts'
import { GOOD_VERIFICATION } from '../src/testing/outcomes.ts'
import {
  type StoredSession,
  TEST_CREDENTIAL,
  TEST_ORIGIN,
  TEST_TENANT_ID,
  TestService,
} from '../src/testing/test-service.ts'

export { GOOD_VERIFICATION }
export const SERVER_CREDENTIAL = TEST_CREDENTIAL
export const TENANT_ID = TEST_TENANT_ID
export const BASE_URL = `${TEST_ORIGIN}/api/v1`

/**
 * A fault of one request. `lost`: the service performs it, and its response never arrives.
 * `timed_out`: the service performs it, and responds with `operation_timeout`.
 */
export type Fault =
  | 'lost'
  | 'timed_out'
  | 'refused'
  | 'hang'
  | 'cut'
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
  readonly redirect?: string
}

/** A service that checks nothing when a session is read, so that only the gate does. */
class GullibleService extends TestService {
  readonly #now: () => number

  constructor(now: () => number) {
    super(now, { state: 'pending' })
    this.#now = now
  }

  override read({ session }: StoredSession): FullSession {
    return { ...session, server_time: iso(this.#now()) }
  }
}

/** The double that the package ships, and the service's bad days. Sessions wait for `bond`. */
export function fakeService(now: () => number) {
  const service = new GullibleService(now)
  const seen: SeenRequest[] = []
  const faults: (Fault | undefined)[] = []

  const fetch: FetchLike = async (url, init) => {
    const request = {
      method: init.method,
      path: new URL(url).pathname,
      headers: init.headers,
      body: init.body,
      redirect: init.redirect,
    }
    seen.push(request)
    const fault = faults.shift()
    if (fault === 'refused')
      throw new TypeError('fetch failed', {
        cause: new Error('connect ECONNREFUSED 192.0.2.1:443'),
      })
    // The clock's time-out signal of these tests is aborted at once.
    if (fault === 'hang') throw init.signal.reason ?? new Error('the attempt has no time limit')
    if (typeof fault === 'object') {
      const { status, headers = {}, body = 'upstream says no' } = fault
      return { status, headers: { get: (name) => headers[name] ?? null }, text: async () => body }
    }
    const done = await service.answer(request)
    if (fault === 'timed_out') return timedOut()
    if (fault === 'lost') throw new TypeError('the connection was reset')
    if (fault === 'cut') return { ...done, text: async () => (await done.text()).slice(0, 20) }
    return done
  }

  return {
    fetch,
    seen,
    /** The faults of the next requests, one each. */
    fault: (...next: (Fault | undefined)[]) => void faults.push(...next),
    completions: () => service.completions,
    ids: () => [...service.sessions.keys()],
    session: (id: string) => service.sessions.get(id)?.session,
    forget: (id: string) => service.sessions.delete(id),
    change(id: string, change: Partial<FullSession>) {
      const stored = service.sessions.get(id)
      if (!stored) throw new Error(`no session ${id}`)
      stored.session = { ...stored.session, ...change }
    },
    /** The phone approves. */
    bond(id: string, verification: Partial<PulseVerification> = {}) {
      this.change(id, {
        state: 'bonded',
        verification: { ...GOOD_VERIFICATION, ...verification },
        subject_ref: this.session(id)?.subject_ref ?? 's'.repeat(43),
      })
    },
    secretOf: (id: string) => service.sessions.get(id)?.completion_secret ?? '',
  }
}

function timedOut(): ResponseLike {
  const error = {
    code: 'unavailable',
    message: 'Refused: operation_timeout.',
    requestId: makeId('req', randomBytes(16)),
    reason: 'operation_timeout',
  }
  const text = JSON.stringify({ error })
  return { status: 503, headers: { get: () => null }, text: async () => text }
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}

/** A session id that no service issued. */
export function strangeSessionId(): string {
  return `sess_${encodeBase62(randomBytes(16), 22)}`
}
