/** The limits of connections, with their defaults. */
export const CONNECTION_LIMITS = {
  total: { fallback: 6_000, max: 1_000_000, meaning: 'open connections, channels included' },
  reserve: {
    fallback: 1_000,
    max: 1_000_000,
    meaning: 'how many of the total only backends can hold',
  },
  network: {
    fallback: 256,
    max: 1_000_000,
    meaning: 'connections of one IPv4 address or IPv6 /64; a /56 can have 2 × as many, a /48 8 ×',
  },
  session: { fallback: 8, max: 1_000, meaning: 'channels of one session' },
  idle_seconds: {
    fallback: 10,
    max: 600,
    meaning: 'how long a connection without a request stays open',
  },
  backend_idle_seconds: {
    fallback: 72,
    max: 4_010,
    meaning: 'the same for a connection of a backend',
  },
  proxy_idle_seconds: {
    // Longer than Envoy's hour, so that the proxy closes first.
    fallback: 3_610,
    max: 4_010,
    meaning: 'the same for a connection of a trusted proxy',
  },
} as const

export type ConnectionLimitName = keyof typeof CONNECTION_LIMITS
export type ConnectionLimits = Readonly<Record<ConnectionLimitName, number>>

const NAMES = Object.keys(CONNECTION_LIMITS) as ConnectionLimitName[]

export const DEFAULT_CONNECTION_LIMITS = Object.fromEntries(
  NAMES.map((name) => [name, CONNECTION_LIMITS[name].fallback]),
) as ConnectionLimits

/** The syntax of connection limits: `total=20000,reserve=2000`. */
export const CONNECTION_LIMITS_SYNTAX = `name=number, several separated by commas; names ${NAMES.join(', ')}; reserve below total`

/**
 * Parses connection limits. Limits that the text does not name have their defaults.
 *
 * @returns undefined if the text does not follow the syntax or names a limit twice
 */
export function parseConnectionLimits(text: string): ConnectionLimits | undefined {
  const given: Partial<Record<ConnectionLimitName, number>> = {}
  for (const part of text.split(',')) {
    const [, word, digits] = /^ *([a-z_]+)=([1-9]\d{0,6}) *$/.exec(part) ?? []
    const name = NAMES.find((known) => known === word)
    if (name === undefined || name in given) return undefined
    if (Number(digits) > CONNECTION_LIMITS[name].max) return undefined
    given[name] = Number(digits)
  }
  const limits = { ...DEFAULT_CONNECTION_LIMITS, ...given }
  return limits.reserve < limits.total ? limits : undefined
}
