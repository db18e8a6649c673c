import { ADDED_PHONE_WAIT_MS } from './lifetimes.ts'
import type { Device, Instant } from './session.ts'

/**
 * More phones and passkeys than one user has. It bounds what a subject makes the service store and
 * notify.
 */
export const MAX_KEYS_PER_SUBJECT = 16

/** How long a device token is valid, and when its phone should renew it. */
export interface TokenTimes {
  readonly renewAt: Instant
  readonly expiresAt: Instant
}

/**
 * The times of a device token. A phone that is used once in half the lifetime never sees it expire.
 */
export function tokenTimes(issuedAt: Instant, ttlMs: number): TokenTimes {
  return { renewAt: issuedAt + Math.floor(ttlMs / 2), expiresAt: issuedAt + ttlMs }
}

/**
 * Whether one key may approve another of its subject. Without this rule the weakest key would
 * decide the trust in the subject: a software key could add a hardware key, which serves production
 * tenants.
 */
export function mayApprove(
  approver: Pick<Device, 'environment' | 'format' | 'webauthn'>,
  key: Pick<Device, 'environment' | 'format' | 'webauthn'>,
): boolean {
  return strengthOf(approver) >= strengthOf(key)
}

/**
 * Sandbox keys serve no production tenant, unattested passkeys serve some, attested keys serve all.
 */
function strengthOf({
  environment,
  format,
  webauthn,
}: Pick<Device, 'environment' | 'format' | 'webauthn'>): number {
  if (environment === 'sandbox') return 0
  return format === 'webauthn' && webauthn?.attested !== true ? 1 : 2
}

/**
 * Whether the device may act for its subject: neither of them is blocked, and the device is not
 * removed.
 */
export function isUsable({ status, subjectBlocked }: Pick<Device, 'status' | 'subjectBlocked'>) {
  return status !== 'blocked' && status !== 'removed' && subjectBlocked !== true
}

/**
 * Whether the device may approve and remove other keys. A suspect device may be a copy, so it may
 * not.
 */
export function mayManageKeys(device: Pick<Device, 'status' | 'subjectBlocked'>): boolean {
  return isUsable(device) && device.status === 'active'
}

/**
 * Whether another phone approved this one less than 72 hours ago. Its subject may not have noticed
 * it yet.
 */
export function isNewlyAdded(
  { addedBy, createdAt }: Pick<Device, 'addedBy' | 'createdAt'>,
  now: Instant,
): boolean {
  return (addedBy ?? null) !== null && now - createdAt < ADDED_PHONE_WAIT_MS
}

/**
 * Whether the device is old enough to add another phone. Otherwise a phone that a user was deceived
 * into adding could plant more, which stay when the user removes it.
 */
export function mayAddPhone(device: Pick<Device, 'addedBy' | 'createdAt'>, now: Instant): boolean {
  return !isNewlyAdded(device, now)
}

/**
 * The phones that go with a removed one: those that it added in its own first 72 hours, in which
 * its user may not have noticed it, and all that these added. The service rejects such additions;
 * only rows of earlier versions have them. The phone that asks stays, with those that it added. One
 * that removes itself takes no other along: it could have added the user's own new phone.
 *
 * @param family every device of the subject, also the removed ones
 */
export function removedWith<D extends Pick<Device, 'id' | 'addedBy' | 'createdAt' | 'status'>>(
  removed: Pick<Device, 'id' | 'addedBy' | 'createdAt'>,
  { family, caller }: { readonly family: readonly D[]; readonly caller: Device['id'] | null },
): readonly D[] {
  if (removed.id === caller) return []
  const addedBy = Map.groupBy(family, (device) => device.addedBy)
  const planted: D[] = (addedBy.get(removed.id) ?? []).filter(({ createdAt }) =>
    isNewlyAdded(removed, createdAt),
  )
  const found = new Map<Device['id'], D>()
  for (let next = planted.pop(); next !== undefined; next = planted.pop()) {
    if (next.id === caller || next.id === removed.id || found.has(next.id)) continue
    found.set(next.id, next)
    planted.push(...(addedBy.get(next.id) ?? []))
  }
  return [...found.values()].filter(({ status }) => status !== 'removed')
}

/**
 * Whether an older phone of the subject is active. An added phone then serves no session that names
 * no user: a user who was deceived into joining another subject would give that subject an account.
 *
 * @param keys the keys of the device's subject
 */
export function hasOlderPhone(device: Device, keys: readonly Device[]): boolean {
  return keys.some(
    (key) =>
      key.status === 'active' && (key.createdAt < device.createdAt || key.id === device.addedBy),
  )
}
