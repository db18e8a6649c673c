import type { SessionId } from '@bonded/contract'
import { waitingApproval } from '../../domain/browser-proof.ts'
import { type Result, reject } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import { readWatchedSession } from '../session/find-and-expire.ts'
import { pageOf } from './proving-page.ts'
import type { BrowserCaller, Service } from '../service.ts'

/** What the service's frame presents: the session of the page that shows it. */
interface FrameRequest {
  readonly id: SessionId | undefined
  readonly watchToken: string | undefined
  readonly parentOrigin: string
}

/** Returns a session to the service's frame, while the session waits for the browser. */
export async function openBrowserFrame(
  service: Service,
  { key, origin }: Pick<BrowserCaller, 'key' | 'origin'>,
  { id, watchToken, parentOrigin }: FrameRequest,
): Promise<Result<Session>> {
  const page = pageOf(service, { key, origin }, parentOrigin)
  if (!page.ok) return page
  const found = await readWatchedSession(service, { id, key, watchToken })
  if (!found.ok) return found
  return waitingApproval(found.value) === undefined ? reject('session_not_live') : found
}
