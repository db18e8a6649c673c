import { awaitsPhone } from '@bonded/contract'
import type { AbortSignalLike } from '../ports.ts'
import { attestOnce } from './attest.ts'
import type { ClaimedSession, PhoneDependencies } from './claimed-session.ts'
import type { GatherSignals } from './signals.ts'
import { awaitsBrowser, requireAnswerable, requiredSignals } from './step-up.ts'

/** Protocol 4: the third valid assertion that misses the policy ends the session. */
const MAX_ATTEMPTS = 3

/** What the platform asks the user for. */
export type Prompt = 'browser_key' | 'approval'

export interface Approving {
  readonly gather: GatherSignals
  /** Called after each response, so that a screen can follow. */
  readonly onResponse?: ((claimed: ClaimedSession) => void) | undefined
  /**
   * Called before each prompt of the platform, so that a screen can explain it. It may wait for the
   * user. `browser_key`, only where the request needs one, creates a passkey and approves nothing.
   */
  readonly onPrompt?: ((prompt: Prompt) => void | Promise<void>) | undefined
  readonly signal?: AbortSignalLike | undefined
}

/**
 * Approves: gathers signals, signs, and answers step-ups until the session is bonded, has ended, or
 * waits for the page's browser (`awaitsBrowser`). Call it only after the user saw the request and
 * agreed.
 *
 * @param oneAtATime runs acts that use the key one after the other
 * @throws {PhoneError} `refused`, `step_up_unsupported`, `not_awaiting`, `unreachable`,
 * `answer_unreadable`, `cancelled`
 */
export async function approve(
  phone: PhoneDependencies,
  claimed: ClaimedSession,
  {
    gather,
    onResponse,
    onPrompt,
    signal,
    oneAtATime,
  }: Approving & { oneAtATime: <T>(act: () => Promise<T>) => Promise<T> },
): Promise<ClaimedSession> {
  let known = claimed
  for (let responses = 0; responses < MAX_ATTEMPTS; responses++) {
    const required = requiredSignals(known)
    const signals = await gather(required)
    requireAnswerable(required, signals)
    const before = known
    known = await oneAtATime(() => attestOnce(phone, before, { signals, onPrompt, signal }))
    onResponse?.(known)
    if (!awaitsPhone(known.session.state) || awaitsBrowser(known.session)) break
  }
  return known
}
