import { hash } from 'node:crypto'
import { accept, reject } from '@bonded/core/domain/rejection'
import type { Clock } from '@bonded/core/ports/clock'
import type { Keyring } from '@bonded/core/ports/keyring'
import type { PassportFinding, PassportVerifier } from '@bonded/core/ports/passports'
import { type TaskOutcome, workerBeside, WorkerPool } from '../../workers/worker-pool.ts'
import type { PassportTrust } from './passport-trust.ts'
import type { PassportTask, PassportVerdict } from './task.ts'

/**
 * A passport takes 2 to 18 ms of one core. Two workers leave CPU for other requests on a small
 * machine.
 */
const WORKERS = 2
/** The most passports that wait: with this limit one waits 0.5 s at most in a burst. */
const MAX_WAITING = 48
/** 100× the slowest verification. */
const DEADLINE_MS = 3_000

/**
 * Protocol 7: the chip signs the first bytes of this digest, which binds its signature to one
 * nonce.
 */
const CHALLENGE_PREFIX = 'bond-aa/v1'
const CHALLENGE_BYTES = 8

/** Verifies passports on worker threads, which run `worker.ts` or its compiled form. */
export function passportVerifier(options: {
  trust: PassportTrust
  keys: Keyring
  clock: Clock
  script?: URL
}): PassportVerifier {
  const { trust, keys, clock, script = workerBeside(import.meta.url) } = options
  const pool = new WorkerPool<PassportVerdict>({
    script,
    data: trust,
    size: WORKERS,
    maxWaiting: MAX_WAITING,
    deadlineMs: DEADLINE_MS,
    clock,
  })
  return {
    async verify({ passport, nonce, environment }) {
      const challenge = hash('sha256', CHALLENGE_PREFIX + nonce, 'buffer').subarray(
        0,
        CHALLENGE_BYTES,
      )
      const task: PassportTask = { passport, challenge, environment, now: clock.now() }
      const done = await pool.run(task)
      return done.outcome === 'full'
        ? reject('overloaded', { step: 'passport_queue' })
        : accept(findingOf(done, keys))
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}

/** A passport that crashes its worker or exceeds the deadline counts as no passport. */
function findingOf(
  done: Exclude<TaskOutcome<PassportVerdict>, { outcome: 'full' }>,
  keys: Keyring,
): PassportFinding {
  if (done.outcome !== 'responded') return { tier: 'none', note: done.outcome }
  const verdict = done.response
  if (verdict.tier === 'none') return { tier: 'none', note: verdict.step }
  const { tier, issuingState, documentNumber } = verdict
  const documentRef = keys.documentRef(issuingState, documentNumber)
  return { tier, issuingState, documentRef, ...('step' in verdict ? { note: verdict.step } : {}) }
}
