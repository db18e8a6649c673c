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

/** How often devices have failed on a session. */
export interface CachedFailures {
  /** True if this process created the session: a device without an entry has not failed. */
  readonly complete: boolean
  readonly counts: Map<DeviceId, number>
}

/** The subject's reference at one tenant, and the stored facts about the device's bonds there. */
export interface CachedBond {
  readonly subjectRef: string
  /** Whether the tenant has blocked the subject. */
  readonly subjectBlocked: boolean
  readonly continuity: number
  readonly hasCompleted: boolean
}

/** A device with those of its tokens that were looked up. */
export interface CachedDevice {
  readonly device: Device
  readonly tokens: readonly Omit<DeviceByToken, 'device'>[]
}

export type RowCaches = ReturnType<typeof rowCaches>

/**
 * In-memory caches of committed rows. A unit of work runs without a pause, and no other unit runs
 * between it and its commit. The store clears the caches when a unit is undone and when another
 * process has committed.
 */
export function rowCaches() {
  const rows = {
    sessions: new GenerationCache<SessionId, Session>(MAX_SESSIONS),
    failures: new GenerationCache<SessionId, CachedFailures>(MAX_SESSIONS),
    /** The rows by tenant and device. */
    bonds: new GenerationCache<string, CachedBond>(MAX_DEVICES),
    devices: new GenerationCache<DeviceId, CachedDevice>(MAX_DEVICES),
    /** The device that has or had a token. The device's own entry decides if the token is known. */
    deviceTokens: new GenerationCache<string, DeviceId>(MAX_DEVICES),
    motions: new GenerationCache<DeviceId, MotionMemory>(MAX_MOTIONS),
    tenants: new GenerationCache<string, Tenant>(MAX_TENANT_ROWS),
    serverCredentials: new GenerationCache<string, ServerCredential>(MAX_TENANT_ROWS),
    publishableKeys: new GenerationCache<string, PublishableKey>(MAX_TENANT_ROWS),
    /** The origins that any tenant has. */
    origins: new GenerationCache<string, true>(MAX_TENANT_ROWS),
  }
  return {
    ...rows,
    clear(): void {
      for (const cache of Object.values(rows)) cache.clear()
    },
  }
}
