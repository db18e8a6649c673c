import { InvalidArgumentError } from 'commander'

const MS_PER_UNIT: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
/** The maximum grace period. It bounds how long an operator must track an old key. */
const MAX_DAYS = 30

/** Parses `90s`, `30m`, `24h`, `7d` or `0` to milliseconds. */
export const parseDuration = durationUpTo(MAX_DAYS)

/** The same, up to a number of days. */
export function durationUpTo(days: number): (text: string) => number {
  return (text) => {
    const [, digits, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
    const ms = text === '0' ? 0 : Number(digits) * (MS_PER_UNIT[unit ?? ''] ?? Number.NaN)
    if (Number.isNaN(ms) || ms > days * 86_400_000)
      throw new InvalidArgumentError(
        `Expected a time such as 90s, 30m, 24h or 7d, at most ${days}d, or 0.`,
      )
    return ms
  }
}
