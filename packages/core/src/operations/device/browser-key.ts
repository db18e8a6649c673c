import type { BrowserKeyRegistration } from '@bonded/contract'
import { accept, type Rejection, type Result, reject } from '../../domain/rejection.ts'
import type { BrowserKey, Device, Instant } from '../../domain/session.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { recordDeviceChange, recordSubjectChange } from './record-device-change.ts'
import type { Service } from '../service.ts'

/** A verified browser key of a phone, before it is stored. */
export interface NewBrowserKey {
  readonly key: BrowserKey
  readonly challenge: string
  readonly challengeExpiresAt: Instant
}

/**
 * Verifies a browser key for a phone (protocol 6). The caller has verified what covers it: an
 * assertion of the phone's key, or the registration of that key over the same challenge. A device
 * token alone never does. The key has no attestation: it serves where its phone serves.
 */
export function verifyBrowserKey(
  { keys, clock, attestationVerifiers }: Service,
  { challenge, registration }: BrowserKeyRegistration,
): Result<NewBrowserKey> {
  const challengeExpiresAt = keys.deviceChallengeExpiry(challenge)
  const now = clock.now()
  if (challengeExpiresAt === undefined || now >= challengeExpiresAt)
    return reject('challenge_not_usable', { param: 'browser_key' })
  const proved = attestationVerifiers.browserKey.verify({ challenge, registration })
  if (!proved.ok) return proved
  return accept({ key: { ...proved.value, createdAt: now }, challenge, challengeExpiresAt })
}

/**
 * Stores the browser key of a phone in place of an earlier one, and notifies all phones of its
 * subject. A key that cannot be stored undoes the whole unit. Undefined stores nothing.
 *
 * @param isChallengeUsed whether the registration of the phone's key uses the same challenge up
 */
export function* storeBrowserKey(
  tables: Tables,
  device: Pick<Device, 'id' | 'subjectId'>,
  added: NewBrowserKey | undefined,
  { isChallengeUsed = false }: { readonly isChallengeUsed?: boolean } = {},
): Work<void> {
  if (added === undefined) return
  const { key, challenge, challengeExpiresAt } = added
  if (!isChallengeUsed && !(yield* tables.devices.useChallenge(challenge, challengeExpiresAt)))
    throw new UnitRejected({ reason: 'challenge_not_usable', param: 'browser_key' })
  if (!(yield* tables.devices.setBrowserKey(device.id, key)))
    throw new UnitRejected({ reason: 'key_already_registered', param: 'browser_key' })
  const change = { at: key.createdAt, kind: 'browser_key_added', step: 'phone' } as const
  yield* recordDeviceChange(tables, device.id, change)
  yield* recordSubjectChange(tables, device.subjectId, { ...change, except: device.id })
}

/** Rejects a call and undoes its unit of work. */
export class UnitRejected extends Error {
  readonly rejection: Rejection

  constructor(rejection: Rejection) {
    super(rejection.reason)
    this.rejection = rejection
  }
}

/** Returns the rejection of a unit that undid itself. */
export function rejectUndone(failure: unknown): Result<never> {
  if (failure instanceof UnitRejected) return { ok: false, rejection: failure.rejection }
  throw failure
}
