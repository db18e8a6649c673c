import { hash } from 'node:crypto'
import { extname } from 'node:path'
import { accept, refuse } from '../../../domain/refusal.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Keyring } from '../../../ports/keyring.ts'
import type { PassportFinding, PassportVerifier } from '../../../ports/passports.ts'
import { type Asked, WorkerPool } from '../../workers/worker-pool.ts'
import type { PassportTrust } from './passport-trust.ts'
import type { PassportQuestion, PassportVerdict } from './question.ts'

/** A passport takes 2 to 18 ms of one core; two workers leave the other requests theirs on a small machine. */
const WORKERS = 2
/** A burst of passports waits half a second at most. */
const MAX_WAITING = 48
/** A hundred times what the slowest takes, and the start of a worker. */
const DEADLINE_MS = 3_000

/** Protocol 7: the chip signs the first bytes of a digest, so that its signature is fresh and for this session. */
const CHALLENGE_PREFIX = 'bond-aa/v1'
const CHALLENGE_BYTES = 8

/** Judges passports on threads of their own. The module beside this one is what they run, as source or compiled. */
export function passportVerifier(parts: {
  trust: PassportTrust
  keys: Keyring
  clock: Clock
  script?: URL
}): PassportVerifier {
  const {
    trust,
    keys,
    clock,
    script = new URL(`./worker${extname(import.meta.url)}`, import.meta.url),
  } = parts
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
      const question: PassportQuestion = { passport, challenge, environment, now: clock.now() }
      const asked = await pool.ask(question)
      return asked.outcome === 'full'
        ? refuse('overloaded', { step: 'passport_queue' })
        : accept(findingOf(asked, keys))
    },
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  }
}

/** Unknown means no: a passport that breaks or stops its judge is none. */
function findingOf(
  asked: Exclude<Asked<PassportVerdict>, { outcome: 'full' }>,
  keys: Keyring,
): PassportFinding {
  if (asked.outcome !== 'answered') return { tier: 'none', note: asked.outcome }
  const verdict = asked.answer
  if (verdict.tier === 'none') return { tier: 'none', note: verdict.step }
  const { tier, issuingState, documentNumber } = verdict
  const documentRef = keys.documentRef(issuingState, documentNumber)
  return { tier, issuingState, documentRef, ...('step' in verdict ? { note: verdict.step } : {}) }
}
