import { REPORT_CONTAINMENT, requestPath, WATCH_HEADER } from '@bonded/contract'
import { send } from '../session/get-session.ts'
import type { SessionAddress } from '../session/snapshot.ts'
import type { Containment } from './containment.ts'

/** Below the service's limit for a session, which counts the reports of all tabs. */
const MAX_REPORTS = 6

/**
 * Creates a function that reports verdicts on the container of a session to the service. A session
 * without a report counts as `ok`, so a page that meets the contract causes no request. A lost
 * report changes nothing for the user.
 */
export function createReporter(to: {
  readonly address: SessionAddress
  readonly publishableKey: string
}): (containment: Containment) => void {
  let count = 0
  return (containment) => {
    if ((count > 0 || containment.verdict !== 'ok') && count < MAX_REPORTS) {
      count += 1
      void send(REPORT_CONTAINMENT, {
        ...to,
        path: requestPath(REPORT_CONTAINMENT, { session_id: to.address.id }),
        headers: { [WATCH_HEADER]: to.address.watchToken },
        body: JSON.stringify(containment),
        signal: null,
      })
    }
  }
}
