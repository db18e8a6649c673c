import type { DeviceId, SessionId } from '@bonded/contract'
import type { MotionMemory } from '@bonded/core/domain/motion-memory'
import type { Device, Session } from '@bonded/core/domain/session'
import type { Tenant } from '@bonded/core/domain/tenant'
import type { DeviceByToken } from '@bonded/core/ports/tables/device-table'
import type { PublishableKey, ServerCredential } from '@bonded/core/ports/tables/tenant-table'
import { GenerationCache } from '@bonded/core/collections/generation-cache'

/** Bounds the sessions in use: a session lives a few minutes. */
const MAX_SESSIONS = 4_096
const MAX_DEVICES = 4_096
/** About 4 KB each. */
const MAX_MOTIONS = 1_024
/** Bounds the tenants and keys. One service has far fewer. */
const MAX_TENANT_ROWS = 10_000

/**
 * In-memory caches of committed rows. A unit of work runs without a pause, and no other unit runs
 * between it and its commit. The store clears the caches when a unit is undone and when another
 * process has committed.
 */
export interface RowCaches {
  readonly sessions: GenerationCache<SessionId, Session>
  readonly failures: GenerationCache<SessionId, CachedFailures>
  /** By tenant and device. */
  readonly bonds: GenerationCache<string, CachedBond>
  readonly devices: GenerationCache<DeviceId, CachedDevice>
  /** The device that has or had a token. The device's own entry decides if the token is known. */
  readonly deviceTokens: GenerationCache<string, DeviceId>
  readonly motions: GenerationCache<DeviceId, MotionMemory>
  readonly tenants: GenerationCache<string, Tenant>
  readonly serverCredentials: GenerationCache<string, ServerCredential>
  readonly publishableKeys: GenerationCache<string, PublishableKey>
  /** The origins that any tenant has. */
  readonly origins: GenerationCache<string, true>
  clear(): void
}

/** How often devices have failed on a session. */
export interface CachedFailures {
  /** True if this process created the session: a device without an entry has not failed. */
  readonly complete: boolean
  readonly counts: Map<DeviceId, number>
}

/** The subject's reference at one tenant, and the stored facts about the device's bonds there. */
export interface CachedBond {
  readonly subjectRef: string
  readonly continuity: number
  readonly hasCompleted: boolean
}

/** A device with those of its tokens that were looked up. */
export interface CachedDevice {
  readonly device: Device
  readonly tokens: readonly Omit<DeviceByToken, 'device'>[]
}

export function rowCaches(): RowCaches {
  const rows = {
    sessions: new GenerationCache<SessionId, Session>(MAX_SESSIONS),
    failures: new GenerationCache<SessionId, CachedFailures>(MAX_SESSIONS),
    bonds: new GenerationCache<string, CachedBond>(MAX_DEVICES),
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
