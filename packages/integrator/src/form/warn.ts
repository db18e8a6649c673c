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
  const documented = docUrl === undefined ? '' : ` ${docUrl}`
  console.warn(`@bonded/integrator: ${code}:${called} ${message} ${remedy}${documented}`)
}
