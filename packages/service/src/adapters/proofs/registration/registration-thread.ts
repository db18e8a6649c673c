import { extname } from 'node:path'
import { refuse } from '../../../domain/refusal.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { KeyRegistrar } from '../../../ports/proofs.ts'
import type { RevocationList } from '../../../ports/revocations.ts'
import { WorkerPool } from '../../workers/worker-pool.ts'
import { judgeStanding } from '../android/standing.ts'
import type {
  QuestionOf,
  RegistrationTrust,
  RegistrationVerdict,
  VouchedFormat,
} from './question.ts'

/** A registration takes some 2 ms of one core: one worker judges hundreds a second and leaves the other core alone. */
const WORKERS = 1
/** Who waits last waits a second or two, long before the request is given up. */
const MAX_WAITING = 500
/** A thousand times what a registration takes, and the start of the worker. */
const DEADLINE_MS = 3_000

/** The registrars' thread: what it takes to ask it, and to end it. */
export interface RegistrationThread extends AsyncDisposable {
  registrarOf<Format extends VouchedFormat>(format: Format): KeyRegistrar<Format>
}

/** Judges registrations on a thread of their own. The module beside this one is what it runs, as source or compiled. */
export function registrationThread(parts: {
  trust: RegistrationTrust
  revocations: RevocationList
  clock: Clock
  script?: URL
}): RegistrationThread {
  const {
    trust,
    revocations,
    clock,
    script = new URL(`./worker${extname(import.meta.url)}`, import.meta.url),
  } = parts
  const pool = new WorkerPool<RegistrationVerdict>({
    script,
    data: trust,
    size: WORKERS,
    maxWaiting: MAX_WAITING,
    deadlineMs: DEADLINE_MS,
    clock,
  })
  return {
    registrarOf: <Format extends VouchedFormat>(format: Format): KeyRegistrar<Format> => ({
      async register(request) {
        const question: QuestionOf<Format> = { format, request, now: clock.now() }
        const asked = await pool.ask(question)
        switch (asked.outcome) {
          case 'full':
            return refuse('overloaded', { step: 'registrations_waiting' })
          case 'failed':
            // Perhaps it was not the phone's fault.
            return refuse('overloaded', { step: 'registration_failed' })
          case 'timed_out':
            return refuse('attestation_invalid', { step: 'timed_out' })
          case 'answered': {
            const { result, serials } = asked.answer
            if (!result.ok) return result
            const standing = await judgeStanding(serials, revocations)
            return standing.ok ? result : standing
          }
        }
      },
    }),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}
