import {
  createGate,
  type Gate,
  type GatePolicy,
  type MemoryTransaction,
  memoryPendingStore,
  type ReviewReason,
} from '@bonded/integrator'
import type { LoanRequest } from './loan-form.ts'
import type { BankDemo } from './demo.ts'
import { createLogins, type Logins } from './logins.ts'
import type { Report } from './reports.ts'

export const WORKFLOW = 'credit_application'
export const ACTION = 'submit_application'

/** An application that the bank has accepted or is reviewing. */
export interface Application {
  readonly number: string
  readonly status: 'accepted' | 'in_review'
  readonly request: LoanRequest
  /** The browser login that sent it. */
  readonly owner: string
  readonly session_id: string
  /** Why an employee reviews it. */
  readonly reasons: readonly ReviewReason[]
}

export type Log = (event: Readonly<Record<string, unknown>>) => void

export interface BankOptions {
  readonly serviceOrigin: string
  readonly serverCredential: string
  readonly publishableKey: string
  readonly tenantId?: string
  /** The workflows whose form counts only from the browser that confirmed. */
  readonly requireBrowser?: GatePolicy['requireBrowser']
  readonly log?: Log
  /** Shows a simulated phone beside the form. For a sandbox only. */
  readonly demo?: BankDemo
}

/** What the routes work with. */
export interface Bank {
  readonly gate: Gate<MemoryTransaction>
  readonly logins: Logins
  readonly applications: Application[]
  readonly reports: Report[]
  /** Reads from the service why a session was killed. Undefined if it was not, or on a failure. */
  readonly endedReasonOf: (session_id: string) => Promise<string | undefined>
  readonly demo: BankDemo | undefined
  readonly serviceOrigin: string
  readonly publishableKey: string
  readonly log: Log
}

/** The bank without its HTTP server: a gate, its browsers, its applications. */
export function openBank(options: BankOptions): Bank {
  const { serviceOrigin, serverCredential, publishableKey, tenantId, demo } = options
  const { requireBrowser, log = () => {} } = options
  const gate = createGate({
    baseUrl: serviceOrigin,
    serverCredential,
    // One process, with the applications in memory too. A real bank keeps both in its database and
    // writes them in one transaction.
    store: memoryPendingStore(),
    policy: {
      ...(tenantId !== undefined && { tenant_id: tenantId }),
      ...(requireBrowser !== undefined && { requireBrowser }),
    },
  })
  return {
    gate,
    logins: createLogins(),
    applications: [],
    reports: [],
    endedReasonOf: (session_id) => endedReason({ serviceOrigin, serverCredential, session_id }),
    demo,
    serviceOrigin,
    publishableKey,
    log,
  }
}

const READ_TIMEOUT_MS = 5_000

async function endedReason(facts: {
  serviceOrigin: string
  serverCredential: string
  session_id: string
}): Promise<string | undefined> {
  const { serviceOrigin, serverCredential, session_id } = facts
  try {
    const response = await fetch(`${serviceOrigin}/api/v1/sessions/${session_id}`, {
      headers: { authorization: `Bearer ${serverCredential}` },
      signal: AbortSignal.timeout(READ_TIMEOUT_MS),
    })
    if (!response.ok) return undefined
    return ((await response.json()) as { ended_reason?: string | null }).ended_reason ?? undefined
  } catch {
    return undefined
  }
}
