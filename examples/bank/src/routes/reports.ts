import type { Bank } from '../bank.ts'
import { json, type Reply, reject } from '../http/reply.ts'
import type { Login } from '../logins.ts'
import { recordReport } from '../reports.ts'

/**
 * POST /reports: the page noticed that the phone answered "This wasn't me". It concerns the newest
 * session of this login.
 */
export async function reportUnexpected(bank: Bank, login: Login): Promise<Reply> {
  const newest = [...login.sessions.keys()].at(-1)
  const report = newest && (await recordReport(bank, login, newest))
  return report
    ? json(201, { report: { number: report.number } })
    : reject(404, 'no_report', 'Your phone reported nothing about this application.')
}
