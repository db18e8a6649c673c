import type { PhoneSession } from '@bonded/contract'
import type { FetchLike } from '../src/index.ts'
import type { Fault } from './fake-records.ts'

/**
 * A service in memory, written from protocol.md, that verifies real signatures. Its clock and its
 * faults are the test's.
 */
export interface FakeService {
  readonly fetch: FetchLike
  /** Every request, in order of arrival, lost ones included. */
  readonly requests: readonly {
    readonly method: string
    readonly path: string
    readonly body: unknown
    readonly raw: string | undefined
    readonly authorization: string | undefined
  }[]
  /** The counters of all assertions that verified. */
  readonly counters: readonly number[]
  readonly session: PhoneSession
  readonly payload: string
  readonly link: string
  nowMs: number
  /** The proofs that the policy requires. */
  require: readonly string[]
  evidenceTtlMs: number
  /** Members the evidence gains, as a newer node would add. */
  evidenceExtra: Record<string, unknown>
  /** Done to the next requests whose method and path end so. */
  fail(pathEnd: string, ...faults: Fault[]): void
  change(next: Partial<PhoneSession>): void
  /** Responses are held for `wait_ms` until this is called or a change happens. */
  release(): void
  deleteDevices(): void
}
