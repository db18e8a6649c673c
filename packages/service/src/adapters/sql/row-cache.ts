import type { DeviceId, SessionId } from '@bonded/contract'
import type { MotionMemory } from '../../domain/motion-memory.ts'
import type { Device, Session } from '../../domain/session.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { PublishableKey, ServerCredential } from '../../ports/store.ts'
import type { DeviceToken } from '../../ports/store.ts'
import { GenerationCache } from '../cache/generation-cache.ts'

/** Sessions live a few minutes; the cached ones are those that calls will read again. */
const MAX_SESSIONS = 4_096
const MAX_DEVICES = 4_096
/** About 4 KB each. */
const MAX_MOTIONS = 1_024
/** A bound on memory: far more keys than the tenants of one node have. */
const MAX_TENANT_ROWS = 10_000

/**
 * In-memory caches of committed rows. A group of units runs synchronously up to its commit, so the
 * caches match the database. The store clears them after a rollback and after a commit of another
 * process.
 */
export interface RowCaches {
  readonly sessions: GenerationCache<SessionId, Session>
  /** For each session, the failures of each device. */
  readonly failures: GenerationCache<SessionId, ReadonlyMap<DeviceId, number>>
  readonly bonds: GenerationCache<string, CachedBonds>
  readonly devices: GenerationCache<DeviceId, CachedDevice>
  /** The device of each token, in use or offered. */
  readonly deviceTokens: GenerationCache<string, DeviceId>
  readonly motions: GenerationCache<DeviceId, MotionMemory>
  readonly tenants: GenerationCache<string, Tenant>
  readonly serverCredentials: GenerationCache<string, ServerCredential>
  readonly publishableKeys: GenerationCache<string, PublishableKey>
  /** Origins that belong to a tenant. */
  readonly origins: GenerationCache<string, true>
  clear(): void
}

/** A device's history with one tenant: the reference of its subject, and its decayed continuity. */
export interface CachedBonds {
  readonly subjectRef: string
  readonly continuity: number
}

export interface CachedDevice {
  readonly device: Device
  readonly token: DeviceToken
  /** The token that is offered and not yet used. */
  readonly offered: DeviceToken | undefined
}

export function rowCaches(): RowCaches {
  const rows = {
    sessions: new GenerationCache<SessionId, Session>(MAX_SESSIONS),
    failures: new GenerationCache<SessionId, ReadonlyMap<DeviceId, number>>(MAX_SESSIONS),
    bonds: new GenerationCache<string, CachedBonds>(MAX_DEVICES),
    devices: new GenerationCache<DeviceId, CachedDevice>(MAX_DEVICES),
    deviceTokens: new GenerationCache<string, DeviceId>(MAX_DEVICES),
    motions: new GenerationCache<DeviceId, MotionMemory>(MAX_MOTIONS),
    tenants: new GenerationCache<string, Tenant>(MAX_TENANT_ROWS),
    serverCredentials: new GenerationCache<string, ServerCredential>(MAX_TENANT_ROWS),
    publishableKeys: new GenerationCache<string, PublishableKey>(MAX_TENANT_ROWS),
    origins: new GenerationCache<string, true>(MAX_TENANT_ROWS),
  }
  return {
    ...rows,
    clear() {
      for (const cache of Object.values(rows)) cache.clear()
    },
  }
}
