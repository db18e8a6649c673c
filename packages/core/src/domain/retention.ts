import type { Instant } from './session.ts'

/** What has a retention of its own for each tenant. The evidence of a session is in its row. */
export const RETENTION_KINDS = ['sessions', 'reasons', 'deliveries', 'receipts', 'audit'] as const
export type RetentionKind = (typeof RETENTION_KINDS)[number]

/** The kinds whose rows are deleted at once, and have no rows that depend on them. */
export type PurgedKind = Exclude<RetentionKind, 'sessions' | 'audit'>

/** The days that a tenant has instead of the service's. */
export type SomeRetention = { readonly [Kind in RetentionKind]?: number | undefined }

export interface DayRange {
  readonly min: number
  readonly max: number
}
export type RetentionBounds = Readonly<Record<RetentionKind, DayRange>>

/** Where the operator has set none. Without a period, an audit entry has the longest one. */
export const RETENTION_BOUNDS: RetentionBounds = {
  sessions: { min: 1, max: 30 },
  reasons: { min: 1, max: 365 },
  deliveries: { min: 1, max: 365 },
  receipts: { min: 1, max: 3_650 },
  audit: { min: 365, max: 3_650 },
}

/** Rows to purge: those of each tenant that are older than its period, within the bounds. */
export interface Due extends DayRange {
  readonly now: Instant
  /** The period of a tenant that has none. */
  readonly usualMs: number
  /** How many at most. */
  readonly limit: number
}

/**
 * Parses bounds such as `sessions=1-30,audit=365-3650`, which replace those of the service.
 *
 * @param logDays how long the log has the entry of a receipt, which its proof needs
 * @returns undefined if the text does not follow the syntax, has a kind twice, or exceeds the log
 */
export function parseBounds(text: string, logDays: number): RetentionBounds | undefined {
  const given = new Map<string, DayRange>()
  for (const part of text === '' ? [] : text.split(',')) {
    const [, word = '', min, max] = /^ *([a-z]+)=([1-9]\d{0,4})-([1-9]\d{0,4}) *$/.exec(part) ?? []
    const isKnown = RETENTION_KINDS.some((kind) => kind === word) && !given.has(word)
    if (!isKnown || Number(min) > Number(max) || Number(max) > 36_500) return undefined
    given.set(word, { min: Number(min), max: Number(max) })
  }
  const { receipts: usual, ...others } = RETENTION_BOUNDS
  const { receipts = { min: usual.min, max: Math.min(usual.max, logDays) }, ...own } =
    Object.fromEntries(given) as Partial<RetentionBounds>
  return receipts.max > logDays ? undefined : { ...others, ...own, receipts }
}

/** What is wrong with the days of a kind; undefined if the operator allows them. */
export function retentionProblem(
  kind: string,
  days: number | undefined,
  bounds: RetentionBounds = RETENTION_BOUNDS,
): string | undefined {
  if (!Object.hasOwn(bounds, kind)) return `is none of ${RETENTION_KINDS.join(', ')}`
  const { min, max } = bounds[kind as RetentionKind]
  if (days === undefined || (Number.isInteger(days) && days >= min && days <= max)) return undefined
  return `is not a number of days from ${min} to ${max}, which BONDED_RETENTION_BOUNDS allows`
}
