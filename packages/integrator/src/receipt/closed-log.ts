import { openNote } from './checkpoint.ts'
import type { ReceiptKeySet } from './verify-receipt.ts'

/** What a log has signed about the log before it, which was closed. */
export interface ClosedLog {
  readonly origin: string
  /** The log that begins with its entries. */
  readonly continuedBy: string
  /** How many of its entries that log has. Later ones were lost. */
  readonly entries: number
  readonly closedAt: string
  readonly reason: string
}

const CLOSES = 'closes '

/**
 * Reads the statements by which one log leads to another.
 *
 * @param closed the response of `/receipts/log/closed`
 * @returns undefined if they do not lead there, or one of them is not signed
 */
export async function closedBetween(
  [from, to]: readonly [from: string, to: string],
  closed: string,
  jwks: ReceiptKeySet,
): Promise<readonly ClosedLog[] | undefined> {
  const logs: ClosedLog[] = []
  for (const statement of statementsIn(closed)) {
    const [continuedBy = '', closes = '', entries = '', , closedAt = '', reason = '', ...rest] =
      (await openNote(statement, jwks)) ?? []
    if (closes.startsWith(CLOSES) && /^\d{1,15}$/.test(entries) && rest.length === 0)
      logs.push({
        origin: closes.slice(CLOSES.length),
        continuedBy,
        entries: Number(entries),
        closedAt,
        reason,
      })
  }
  const path: ClosedLog[] = []
  for (let origin = from; origin !== to; ) {
    const next = logs.find((log) => log.origin === origin && !path.includes(log))
    if (next === undefined) return undefined
    path.push(next)
    origin = next.continuedBy
  }
  return path
}

function statementsIn(text: string): readonly string[] {
  try {
    const { closed } = JSON.parse(text) as { closed: readonly { statement: unknown }[] }
    return closed.map(({ statement }) => String(statement))
  } catch {
    return []
  }
}
