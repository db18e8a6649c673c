import type { GateError } from '../errors.ts'

const INTERVAL_MS = 60_000
/** The time of the last warning, by code and origin: the rest of an address has session ids. */
const warnedAtMs = new Map<string, number>()

/** Writes an error of the gate to the log of the process, each code once a minute. */
export function warnOnceAMinute(error: GateError): void {
  const { code, message, remedy, address, docUrl } = error
  const key = address === undefined ? code : `${code} ${new URL(address).origin}`
  const now = Date.now()
  // A clock that was set back must not silence the log.
  if (Math.abs(now - (warnedAtMs.get(key) ?? -INTERVAL_MS)) < INTERVAL_MS) return
  warnedAtMs.set(key, now)
  const called = address === undefined ? '' : ` ${address}:`
  const because = error.cause === undefined ? '' : ` (${rootOf(error.cause)})`
  const documented = docUrl === undefined ? '' : ` ${docUrl}`
  console.warn(`@bonded/integrator: ${code}:${called} ${message}${because} ${remedy}${documented}`)
}

/** `fetch` says no more than "fetch failed". The error beneath it names the host and the fault. */
function rootOf(error: unknown, depth = 0): string {
  if (!(error instanceof Error)) return String(error)
  if (error.cause !== undefined && depth < 5) return rootOf(error.cause, depth + 1)
  // Several failed addresses of one host are an error without a message.
  return error.message || String((error as { readonly code?: unknown }).code ?? error.name)
}
