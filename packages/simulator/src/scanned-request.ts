import type { PhoneSession } from '@bonded/contract'
import type { AbortSignalLike, ClaimedSession, DeclineReason, Phone } from '@bonded/phone'
import { type EvidenceProfile, type EvidenceSources, simulateEvidence } from './evidence.ts'

/** A session as the phone shows it: without the watch token. */
export type ShownSession = Omit<PhoneSession, 'watch_token'>

/** How a scanned request is approved. */
export interface ApprovingOptions {
  /**
   * Selects the evidence of each attempt. `required` is empty at first, and names the missing
   * proofs of a step-up. A promise lets the user decide when to answer the step-up.
   */
  readonly evidence: (required: readonly string[]) => EvidenceProfile | Promise<EvidenceProfile>
  /** Called after each response of the service. */
  readonly onResponse?: (session: ShownSession) => void
  readonly signal?: AbortSignalLike
}

/** A claimed session on the screen of a simulated phone, which waits for its user. */
export interface ScannedRequest {
  /** The session as last received. */
  readonly session: () => ShownSession
  /** @throws {PhoneError} as `Phone.approve` */
  approve(options: ApprovingOptions): Promise<ShownSession>
  /** @throws {PhoneError} as `Phone.decline` */
  decline(
    reason: DeclineReason,
    options?: { readonly note?: string; readonly signal?: AbortSignalLike },
  ): Promise<ShownSession>
  /**
   * Waits for `completed`, `killed` or `expired`.
   *
   * @throws {PhoneError} as `Phone.waitForEnd`
   */
  waitForEnd(signal?: AbortSignalLike): Promise<ShownSession>
}

/** Wraps a claimed session, so that a screen can decide about it step by step. */
export function scannedRequest(
  phone: Phone,
  claimed: ClaimedSession,
  sources: EvidenceSources,
): ScannedRequest {
  let known = claimed
  const keep = (next: ClaimedSession): ShownSession => {
    known = next
    return shownSession(next)
  }
  return {
    session: () => shownSession(known),
    approve: async ({ evidence, onResponse, signal }) =>
      keep(
        await phone.approve(known, {
          gather: async ({ required }) =>
            simulateEvidence(await evidence(required), sources, required),
          onResponse: (responded) => onResponse?.(keep(responded)),
          signal,
        }),
      ),
    decline: async (reason, options) => keep(await phone.decline(known, { reason, ...options })),
    // The wait begins with the session of now: a step-up during it changes the session it reads.
    waitForEnd: async (signal) => keep(await phone.waitForEnd(known, { signal })),
  }
}

/** Returns a claimed session without its watch token, which a screen does not need. */
export function shownSession({ session }: ClaimedSession): ShownSession {
  const { watch_token: _secret, ...shown } = session
  return shown
}
