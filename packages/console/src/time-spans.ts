import {
  DAY_MS,
  HOUR_MS,
  sumOf,
  type Totals,
  type TotalsGrouping,
  type TotalsRow,
} from '@bonded/core/domain/totals'

/** A time that a page counts: so many slots, each one bar of a chart. */
export interface TimeSpan {
  readonly text: string
  /** What one slot is called. */
  readonly slot: string
  readonly slots: number
  readonly slotMs: number
  /** How the totals are read. A slot has one or several of these. */
  readonly by: TotalsGrouping
}

/** Totals are counted by hour, so the last hour is this one and the one before. */
export const TIME_SPANS = {
  hour: { text: 'This hour and the last', slot: 'hour', slots: 2, slotMs: HOUR_MS, by: 'hour' },
  day: { text: 'Last 24 hours', slot: 'hour', slots: 24, slotMs: HOUR_MS, by: 'hour' },
  month: { text: 'Last 30 days', slot: 'day', slots: 30, slotMs: DAY_MS, by: 'day' },
  year: { text: 'Last 52 weeks', slot: 'week', slots: 52, slotMs: 7 * DAY_MS, by: 'day' },
} as const satisfies Readonly<Record<string, TimeSpan>>

/** Long enough to see what broke, and few enough rows to rank all tenants by. */
export const RECENT: TimeSpan = { ...TIME_SPANS.day, text: 'Last 3 hours', slots: 3 }

/** The totals of a slot. */
export interface Slot {
  readonly from: number
  readonly totals: Totals
}

/** When a span begins: so that its last slot has the current hour or day. */
export function beginOf({ slots, slotMs, by }: TimeSpan, now: number): number {
  const unitMs = by === 'day' ? DAY_MS : HOUR_MS
  const end = now - (now % unitMs) + unitMs
  return end - slots * slotMs
}

/** Every slot of a span, oldest first, with zeros where nothing was counted. */
export function slotsOf(span: TimeSpan, rows: readonly TotalsRow[], now: number): readonly Slot[] {
  const begin = beginOf(span, now)
  return Array.from({ length: span.slots }, (_, index) => {
    const from = begin + index * span.slotMs
    const isIn = ({ from: at }: TotalsRow) => at !== null && at >= from && at < from + span.slotMs
    return { from, totals: sumOf(rows.filter(isIn)) }
  })
}

/** The start of a slot, in UTC. */
export function slotText({ slot }: TimeSpan, from: number): string {
  const [day = '', clock = ''] = new Date(from).toISOString().split('T')
  return slot === 'hour' ? `${day} ${clock.slice(0, 5)}` : day
}
