import { type CarrierResponse, learned, type Unknown, unknown } from './carrier-response.ts'
import type { Reply } from './exchange.ts'

const HOUR_MS = 3_600_000
const DAY_HOURS = 24
/** An older report of reachability says nothing about the present. */
export const STATUS_FRESH_MS = 900_000
/** The carrier's clock may be ahead of ours. */
const CLOCK_SKEW_MS = 60_000

/** The CAMARA calls that the service makes: path and scope of each. */
export const CAMARA_CALLS = {
  verifyNumber: { path: '/number-verification/v2/verify', scope: 'number-verification:verify' },
  checkSwap: { path: '/sim-swap/v2/check', scope: 'sim-swap:check' },
  swapDate: { path: '/sim-swap/v2/retrieve-date', scope: 'sim-swap:retrieve-date' },
  reachability: {
    path: '/device-reachability-status/v1/retrieve',
    scope: 'device-reachability-status:read',
  },
} as const
export type CamaraCall = (typeof CAMARA_CALLS)[keyof typeof CAMARA_CALLS]

type Members = Readonly<Record<string, unknown>>

/** The members of a response, or the reason for its absence. */
export function membersOf({ status, members }: Reply): CarrierResponse<Members> {
  if (status === 200) return members === undefined ? unknown('malformed_answer') : learned(members)
  return rejection(status, members?.code)
}

function rejection(status: number, code: unknown): Unknown {
  switch (status) {
    case 400:
      return unknown(code === 'OUT_OF_RANGE' ? 'out_of_range' : 'invalid_argument')
    case 401:
      return unknown('unauthenticated')
    case 403:
      return unknown('permission_denied')
    case 404:
      return unknown('identifier_not_found')
    case 422:
      return unknown('not_applicable')
    default:
      return unknown('malformed_answer')
  }
}

/** Reads a member that is true or false. */
export function booleanOf(value: unknown): CarrierResponse<boolean> {
  return typeof value === 'boolean' ? learned(value) : unknown('malformed_answer')
}

/**
 * Derives the same from the date of the last SIM change. A missing date proves that there was no
 * swap only if the carrier monitored the number for `maxAgeHours`.
 */
export function swappedSince(
  members: Members,
  { maxAgeHours, now }: { maxAgeHours: number; now: number },
): CarrierResponse<boolean> {
  const { latestSimChange: latest, monitoredPeriod: days } = members
  if (latest === null) {
    if (days !== undefined && !Number.isInteger(days)) return unknown('malformed_answer')
    return typeof days === 'number' && days * DAY_HOURS >= maxAgeHours
      ? learned(false)
      : unknown('not_monitored')
  }
  const changedAt = instantOf(latest)
  return changedAt === undefined
    ? unknown('malformed_answer')
    : learned(changedAt > now - maxAgeHours * HOUR_MS)
}

export type DeviceStatus = 'active' | 'inactive'

/**
 * Only a fresh report counts as `active`. A report of `inactive` is valid until the next report.
 */
export function deviceStatus(
  { reachable, lastStatusTime }: Members,
  now: number,
): CarrierResponse<DeviceStatus> {
  const reportedAt = instantOf(lastStatusTime)
  if (typeof reachable !== 'boolean' || reportedAt === undefined) return unknown('malformed_answer')
  if (!reachable) return learned('inactive')
  return reportedAt <= now + CLOCK_SKEW_MS && now - reportedAt <= STATUS_FRESH_MS
    ? learned('active')
    : unknown('stale_status')
}

/** Parses RFC 3339 with a time zone into milliseconds since the epoch. */
function instantOf(text: unknown): number | undefined {
  if (
    typeof text !== 'string' ||
    !/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/.test(text)
  )
    return undefined
  const instant = Date.parse(text)
  return Number.isNaN(instant) ? undefined : instant
}
