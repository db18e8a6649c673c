interface LimitEntry {
  /** Of what there are so many. */
  readonly per: string
  /** How many in a minute; or how many in all, where it is for a session. */
  readonly quota: number
  readonly every: 'minute' | 'session'
  /** How many at once. Absent: the whole quota. */
  readonly burst?: number
}

/**
 * What is limited, and by how much where the operator says nothing else (protocol 10). The names stand in
 * `RateLimit` and `RateLimit-Policy`, and the endpoint table says which of them an endpoint counts.
 */
export const LIMITS = {
  create: { per: 'server credential', quota: 600, every: 'minute', burst: 100 },
  create_address: { per: '`end_user_address` of a tenant', quota: 60, every: 'minute' },
  get: {
    per: 'session and caller: a watch token, or a device. A backend is not limited',
    quota: 120,
    every: 'minute',
  },
  device: {
    per: 'device: claim, evidence, attestation and new token together',
    quota: 20,
    every: 'minute',
  },
  evidence: { per: 'session and device', quota: 6, every: 'session' },
  challenge: { per: 'network address', quota: 30, every: 'minute' },
  register: { per: 'network address', quota: 10, every: 'minute' },
  bad_credential: {
    per: 'network address. Only further bad credentials are refused',
    quota: 20,
    every: 'minute',
  },
} as const satisfies Record<string, LimitEntry>

export type LimitName = keyof typeof LIMITS

export const LIMIT_NAMES = Object.keys(LIMITS) as [LimitName, ...LimitName[]]
