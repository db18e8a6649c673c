import type { AssertionBand, VerifiedEvidence } from '@bonded/contract'
import { KNOWN_KEY_AGE_MS, SEASONED_KEY_AGE_MS } from './lifetimes.ts'
import type { Device, Instant, Session } from './session.ts'

/** The facts that decide what a key can prove. */
export interface KeyFacts {
  readonly now: Instant
  readonly session: Pick<Session, 'policy' | 'wantedSubjectRef' | 'sealedPhoneNumber'>
  readonly device: Pick<Device, 'format' | 'webauthn' | 'createdAt'>
  /** Whether a bond of the device with this tenant was completed. */
  readonly hasCompleted: boolean
}

/** Whether hardware or its vendor attests the key. */
export function isAttested({ format, webauthn }: Pick<Device, 'format' | 'webauthn'>): boolean {
  return format === 'webauthn' ? webauthn?.attested === true : format !== 'software'
}

/**
 * Protocol 6: checks whether the policy accepts this kind of key. It rejects a key that can never
 * reach a required band before the user is prompted for proofs in vain.
 */
export function acceptsKey(facts: KeyFacts): boolean {
  const { session, device } = facts
  const { policy } = session
  if (!isOpenToScripts(device)) return true
  if (policy.webauthn === 'attested') return false
  if (policy.webauthn === 'known' && session.wantedSubjectRef === null) return false
  if (policy.webauthn === 'seasoned' && !isSeasoned(facts)) return false
  const hasIndependent = session.sealedPhoneNumber !== null || policy.passport !== 'none'
  const best = highestBandOf(facts, hasIndependent)
  if (policy.require.includes('band:high')) return best === 'high'
  return best !== 'low' || !policy.require.includes('band:medium')
}

/** Whether the session rejects a new `webauthn` key that has no attestation. */
export function needsAttestedKey(session: KeyFacts['session']): boolean {
  const device = { format: 'webauthn', createdAt: 0 } as const
  return !acceptsKey({ session, device, hasCompleted: false, now: device.createdAt })
}

/**
 * Protocol 6: returns the highest band of a bond by this key.
 *
 * @param hasIndependent whether the evidence includes such as a script lacks
 * (`hasIndependentEvidence`)
 */
export function highestBandOf(facts: KeyFacts, hasIndependent: boolean): AssertionBand {
  const { session, device } = facts
  if (!isOpenToScripts(device)) return 'high'
  switch (session.policy.unattested) {
    case 'review':
      return 'low'
    case 'known':
      return isKnown(facts) || hasIndependent ? 'medium' : 'low'
    case 'accept':
      return 'medium'
  }
}

/** Whether a carrier or a passport's chip has verified something that a script does not have. */
export function hasIndependentEvidence(
  evidence: Pick<VerifiedEvidence, 'carrier' | 'passport'>,
): boolean {
  const { carrier, passport } = evidence
  return (carrier.number_verified && !carrier.sim_swap_recent) || passport?.tier === 'chip'
}

/**
 * Whether a script can create such a key for any tenant. A script's keys of other formats are
 * sandbox keys, which production tenants reject.
 */
function isOpenToScripts(device: Pick<Device, 'format' | 'webauthn'>): boolean {
  return device.format === 'webauthn' && !isAttested(device)
}

/** Whether the session names its user, and the key is not new to the tenant. */
function isKnown({ session, device, hasCompleted, now }: KeyFacts): boolean {
  if (session.wantedSubjectRef === null) return false
  return hasCompleted || now - device.createdAt >= KNOWN_KEY_AGE_MS
}

/** Whether the session names its user, and the key is old enough and has completed a bond. */
function isSeasoned({ session, device, hasCompleted, now }: KeyFacts): boolean {
  const isOld = now - device.createdAt >= SEASONED_KEY_AGE_MS
  return isOld && hasCompleted && session.wantedSubjectRef !== null
}
