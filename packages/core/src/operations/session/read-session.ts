import type { SessionId } from '@bonded/contract'
import {
  acceptedIndex,
  claimedNonceExpiresAt,
  isLatestStepNonce,
  stepNonce,
} from '../../domain/challenge.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import { runReadingChecks } from '../../protocol/run-checks.ts'
import { isReadable, stateAt, usesStepNonce } from '../../protocol/states.ts'
import { findAndExpireSession, readAndExpire, readWatchedSession } from './find-and-expire.ts'
import { loadAndExpireAttempt } from '../phone/phone-attempt.ts'
import type { Invited } from '../phone/read-invitation.ts'
import type { BackendCaller, BrowserCaller, PhoneCaller, Service } from '../service.ts'

/** Returns a session to its tenant's backend. */
export function readAsBackend(
  service: Service,
  caller: BackendCaller,
  id: SessionId | undefined,
): Promise<Result<Session>> {
  return readAndExpire(
    service,
    (tables) => findAndExpireSession(service, tables, { id, key: caller.credential }),
    (found) => (found.ok ? found.value : undefined),
  )
}

/** Returns a session to a browser that presents its watch token, and records the page's origin. */
export async function openAsBrowser(
  service: Service,
  { key, origin }: Pick<BrowserCaller, 'key' | 'origin'>,
  { id, watchToken }: { id: SessionId | undefined; watchToken: string | undefined },
): Promise<Result<Session>> {
  const read = () => readWatchedSession(service, { id, key, watchToken })
  const result = await read()
  if (!result.ok) return result
  // The write takes time, in which a bond may have extended the session: return it as it is now.
  return (await storeOrigin(service, result.value, origin)) ? read() : result
}

/**
 * Records the origin of the first page that presented the watch token: what the phone shows. The
 * service's own page acts for a phone, so its origin is not recorded.
 *
 * @returns whether this origin was recorded
 */
export async function storeOrigin(
  service: Service,
  session: Session,
  origin: string,
): Promise<boolean> {
  if (session.requestingOrigin !== null || origin === service.settings.publicOrigin) return false
  await service.store.write((tables) => tables.sessions.storeOrigin(session.id, origin))
  return true
}

/** What a phone reads: the session, its tenant, and the nonce that the view may show. */
export interface PhoneReading extends Invited {
  readonly nonce: string
}

/** Returns the phone view for an accepted nonce, or for the nonce that the phone used. */
export async function readAsPhone(
  service: Service,
  caller: PhoneCaller,
  { id, nonce }: { id: SessionId | undefined; nonce: string | undefined },
): Promise<Result<PhoneReading>> {
  const { device } = caller
  const notFound = reject('session_not_found')
  if (id === undefined || nonce === undefined) return notFound
  const attempt = await readAndExpire(
    service,
    (tables) => loadAndExpireAttempt(service, tables, { id, device, nonce }),
    (loaded) => loaded?.session,
  )
  if (attempt === undefined || !isReadable(attempt.session, attempt.now)) return notFound
  const { session, tenant, nonces, now } = attempt
  // A phone that has failed too often may still read how its session ended.
  if (runReadingChecks('read', { ...attempt, failures: 0 }) !== undefined) return notFound

  const came = session.claimedNonce !== null && nonces.sameText(session.claimedNonce, nonce)
  if (usesStepNonce({ state: stateAt(session, now) })) {
    const step = stepNonce(session, nonces)
    return came || nonces.sameText(step, nonce)
      ? accept({ session, tenant, nonce: step })
      : notFound
  }
  if (isLatestStepNonce(session, nonce, nonces)) return accept({ session, tenant, nonce })
  if (!came && acceptedIndex(session, nonce, { now, nonces }) === undefined) return notFound
  // Protocol 4: a phone that has claimed sees the nonce that it claimed, which is the only one it
  // may use.
  const claimed = now < (claimedNonceExpiresAt(session) ?? 0) ? session.claimedNonce : null
  return accept({ session, tenant, nonce: claimed ?? nonce })
}
