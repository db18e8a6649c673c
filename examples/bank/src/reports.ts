import type { Bank } from './bank.ts'
import type { Login } from './logins.ts'

/** The answer of a phone that its user did not start a request. An employee follows it up. */
export interface Report {
  readonly number: string
  readonly session_id: string
  /** The browser login that started the request. */
  readonly owner: string
}

/**
 * Records a report if the service confirms that the phone answered "This wasn't me". The bank then
 * deletes the form and ends the login, because someone else may be using this browser.
 *
 * @returns undefined if the session is not this login's, or its phone reported nothing
 */
export async function recordReport(
  bank: Bank,
  login: Login,
  session_id: string,
): Promise<Report | undefined> {
  const known = bank.reports.find((report) => report.session_id === session_id)
  if (!login.sessions.has(session_id)) return undefined
  if (known !== undefined) return known
  // The page's word is not enough: only the service knows what the phone answered.
  if ((await bank.endedReasonOf(session_id)) !== 'user_unexpected') return undefined
  const report = {
    number: `R-${String(bank.reports.length + 1).padStart(6, '0')}`,
    session_id,
    owner: login.id,
  }
  bank.reports.push(report)
  bank.logins.end(login)
  bank.log({ event: 'report', ...report })
  return report
}
