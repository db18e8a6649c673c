interface LimitEntry {
  /** The unit that has its own quota. */
  readonly per: string
  /** How many calls a minute, or how many in all for a session. */
  readonly quota: number
  readonly every: 'minute' | 'session'
  /** How many calls at once. Absent: the whole quota. */
  readonly burst?: number
}

/**
 * The default rate limits (protocol 10). `RateLimit` and `RateLimit-Policy` carry their names, and
 * the endpoint table lists the limits of each endpoint.
 */
export const LIMITS = {
  create: { per: 'server credential', quota: 600, every: 'minute', burst: 100 },
  create_address: { per: 'tenant and network of `end_user_address`', quota: 60, every: 'minute' },
  get: {
    per: 'session and caller: a watch token, a device, or QR code images; a check of a publishable key by network',
    quota: 120,
    every: 'minute',
  },
  channel: { per: 'session and watch token', quota: 60, every: 'minute' },
  device: {
    per: 'device: claim, evidence, attestation, new token, list and removal of keys together',
    quota: 20,
    every: 'minute',
  },
  evidence: { per: 'session and device', quota: 6, every: 'session' },
  containment: {
    per: 'session and watch token: reports about the container',
    quota: 8,
    every: 'session',
  },
  browser: {
    per: 'session and watch token: proofs of browsers; a call without the session’s watch token by network',
    quota: 30,
    every: 'minute',
  },
  invitation: { per: 'network', quota: 120, every: 'minute' },
  challenge: { per: 'network', quota: 6_000, every: 'minute', burst: 1_000 },
  register: { per: 'network', quota: 60, every: 'minute' },
  recovery: { per: 'network', quota: 30, every: 'minute' },
  backend: {
    per: 'server credential and endpoint: get, delete, form-completed, timeline, users and their phones, rejections, reads of webhooks',
    quota: 6_000,
    every: 'minute',
    burst: 1_000,
  },
  block: {
    per: 'server credential: blocks of users, and their ends',
    quota: 120,
    every: 'minute',
  },
  webhook: {
    per: 'server credential: changes of webhook endpoints, tests, retries, recoveries, links to the portal. Its portals together have as many',
    quota: 60,
    every: 'minute',
  },
  portal: {
    per: 'server credential: reads of all portals that it has opened',
    quota: 300,
    every: 'minute',
  },
  phone: {
    per: 'device and endpoint: decline, device record',
    quota: 60,
    every: 'minute',
  },
  public: {
    per: 'network, for each endpoint or page that takes no credential',
    quota: 6_000,
    every: 'minute',
    burst: 1_000,
  },
  consistency: {
    per: 'network: proofs of consistency of the log of receipts, which cost ten times a page. They also count as `public`',
    quota: 600,
    every: 'minute',
    burst: 100,
  },
  not_found: {
    per: 'network: reads of sessions that do not exist. A phone counts by device, and a browser with the session’s watch token by session. A backend is not counted',
    quota: 300,
    every: 'minute',
  },
  rejected: {
    per: 'network: rejected requests without a server credential or device token, and rejected upgrades. Only further ones become 429',
    quota: 300,
    every: 'minute',
  },
  bad_credential: {
    per: 'network. Only further invalid credentials are rejected',
    quota: 20,
    every: 'minute',
  },
} as const satisfies Record<string, LimitEntry>

export type LimitName = keyof typeof LIMITS

export const LIMIT_NAMES = Object.keys(LIMITS) as [LimitName, ...LimitName[]]

/**
 * The share of each `create` bucket reserved for networks that a tenant has not seen recently, so
 * that one network that creates many sessions cannot exclude all others.
 */
export const NEWCOMER_SHARE = 0.25
/** A network is new to a tenant for this many creates within `NEWCOMER_PERIOD_MINUTES`. */
export const NEWCOMER_CREATES = 2
export const NEWCOMER_PERIOD_MINUTES = 5
