import { reject } from '@bonded/core/domain/rejection'
import type { Clock } from '@bonded/core/ports/clock'
import type { AttestationVerifier } from '@bonded/core/ports/devices'
import type { RevocationList } from '@bonded/core/ports/revocations'
import { workerBeside, WorkerPool } from '../../workers/worker-pool.ts'
import { checkRevocation } from '../android/revocation-check.ts'
import type { TaskOf, RegistrationTrust, RegistrationVerdict, AttestedFormat } from './task.ts'

/** A registration takes 2 ms of one core, so one worker verifies hundreds per second. */
const WORKERS = 1
/** The last registration in the queue waits 1 to 2 s, well within a request's timeout. */
const MAX_WAITING = 500
/** 1,000× the duration of a registration. */
const DEADLINE_MS = 3_000

/** The worker thread that verifies registrations. */
export interface RegistrationThread extends AsyncDisposable {
  verifierOf<Format extends AttestedFormat>(format: Format): AttestationVerifier<Format>
}

/** Runs `worker.ts`, or its compiled form, on a separate thread. */
export type RegistrationPool = Pick<
  WorkerPool<RegistrationVerdict>,
  'run' | typeof Symbol.asyncDispose
>

export function registrationPool(
  trust: RegistrationTrust,
  clock: Clock,
  script = workerBeside(import.meta.url),
): RegistrationPool {
  return new WorkerPool<RegistrationVerdict>({
    script,
    data: trust,
    size: WORKERS,
    maxWaiting: MAX_WAITING,
    deadlineMs: DEADLINE_MS,
    clock,
  })
}

/** Verifies registrations on the thread of the pool. */
export function registrationThread(options: {
  pool: RegistrationPool
  revocations: RevocationList
  clock: Clock
}): RegistrationThread {
  const { pool, revocations, clock } = options
  return {
    verifierOf: <Format extends AttestedFormat>(format: Format): AttestationVerifier<Format> => ({
      async verify(request) {
        const task: TaskOf<Format> = { format, request, now: clock.now() }
        const done = await pool.run(task)
        if (done.outcome === 'full') return reject('overloaded', { step: 'registrations_waiting' })
        // The phone need not be the cause: a busy machine delays a genuine registration.
        if (done.outcome !== 'responded')
          return reject('overloaded', { step: `registration_${done.outcome}` })
        const { result, serials } = done.response
        if (!result.ok) return result
        const checked = await checkRevocation(serials, revocations)
        return checked.ok ? result : checked
      },
    }),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
