import type { DeviceId, SessionId } from '@bonded/contract'
import type { MotionMemory } from '../../domain/motion-memory.ts'
import type { Device, Session } from '../../domain/session.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { PublishableKey, ServerCredential } from '../../ports/store.ts'
import type { DeviceToken } from '../../ports/store.ts'
import { GenerationCache } from '../cache/generation-cache.ts'

/** A session of this process lives a few minutes: these are the ones that somebody is about to ask for again. */
const MAX_SESSIONS = 4_096
const MAX_DEVICES = 4_096
/** Some 4 KB each. */
const MAX_MOTIONS = 1_024
/** A bound; far more keys than one node's tenants hold. */
const MAX_TENANT_ROWS = 10_000

/**
 * Rows as they rest in the database, kept in memory. A unit of work runs without letting go of the thread and
 * nobody else runs between it and its commit, so what is kept is what is stored, as long as it is dropped when a
 * unit is undone and when another process has written.
 */
export interface RowCaches {
  readonly sessions: GenerationCache<SessionId, Session>
  /** Of each session, how often which phone has failed on it. */
  readonly failures: GenerationCache<SessionId, ReadonlyMap<DeviceId, number>>
  readonly bonds: GenerationCache<string, CachedBonds>
  readonly devices: GenerationCache<DeviceId, CachedDevice>
  /** Which device has a token, or is offered one. */
  readonly deviceTokens: GenerationCache<string, DeviceId>
  readonly motions: GenerationCache<DeviceId, MotionMemory>
  readonly tenants: GenerationCache<string, Tenant>
  readonly serverCredentials: GenerationCache<string, ServerCredential>
  readonly publishableKeys: GenerationCache<string, PublishableKey>
  /** Those that a tenant has. */
  readonly origins: GenerationCache<string, true>
  clear(): void
}

/** What a phone's bonds with one tenant have left: what its subject is called there, and its decayed continuity. */
export interface CachedBonds {
  readonly subjectRef: string
  readonly continuity: number
}

export interface CachedDevice {
  readonly device: Device
  readonly token: DeviceToken
  /** Waits to be used for the first time. */
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
