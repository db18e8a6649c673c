import type { SessionId } from '@bonded/contract'
import { acceptedIndex } from '../../domain/challenge.ts'
import type { Session } from '../../domain/session.ts'
import { noncesOf, type Service } from '../service.ts'

/** Returns the session whose QR code shows this nonce. Undefined once no phone may scan it. */
export async function readQrCode(
  service: Service,
  id: SessionId,
  nonce: string,
): Promise<Session | undefined> {
  const session = await service.store.read((tables) => tables.sessions.find(id))
  if (session === undefined || !service.keys.holds(session.rootKeyId)) return undefined
  const at = { now: service.clock.now(), nonces: noncesOf(service, session) }
  return acceptedIndex(session, nonce, at) === undefined ? undefined : session
}
