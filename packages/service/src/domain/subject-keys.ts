import type { Device, Instant } from './session.ts'

/** More phones and passkeys than one person uses; a bound on what one subject makes the service store and notify. */
export const MAX_KEYS_PER_SUBJECT = 16

/** How long a device token is valid, and when its phone should renew it. */
export interface TokenTimes {
  readonly renewAt: Instant
  readonly expiresAt: Instant
}

/** The times of a device token. A phone that is used at least once in half the lifetime never meets the expiry. */
export function tokenTimes(issuedAt: Instant, ttlMs: number): TokenTimes {
  return { renewAt: issuedAt + Math.floor(ttlMs / 2), expiresAt: issuedAt + ttlMs }
}

/**
 * Whether one key may approve another of its subject. Without this rule the weakest key of a subject would decide
 * what the subject's name is worth: a key in software could add a hardware key, which then serves production tenants.
 */
export function mayApprove(
  approver: Pick<Device, 'environment' | 'format' | 'webauthn'>,
  key: Pick<Device, 'environment' | 'format' | 'webauthn'>,
): boolean {
  return strengthOf(approver) >= strengthOf(key)
}

/** Sandbox keys serve no production tenant; unattested passkeys serve some; attested keys serve all. */
function strengthOf({
  environment,
  format,
  webauthn,
}: Pick<Device, 'environment' | 'format' | 'webauthn'>): number {
  if (environment === 'sandbox') return 0
  return format === 'webauthn' && webauthn?.attested !== true ? 1 : 2
}

/** Whether the device may act for its subject at all: neither it nor the subject is blocked, and it was not removed. */
export function isUsable({ status, subjectBlocked }: Pick<Device, 'status' | 'subjectBlocked'>) {
  return status !== 'blocked' && status !== 'removed' && subjectBlocked !== true
}

/** Whether the device may approve and remove other keys. A suspect one may be a copy, so it may not. */
export function mayManageKeys(device: Pick<Device, 'status' | 'subjectBlocked'>): boolean {
  return isUsable(device) && device.status === 'active'
}
