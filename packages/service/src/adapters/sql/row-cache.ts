import type { DeviceId, SessionId } from '@bonded/contract'
import type { MotionMemory } from '../../domain/motion-memory.ts'
import type { Device, Session } from '../../domain/session.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { PublishableKey, ServerCredential } from '../../ports/store.ts'
import type { DeviceToken } from '../../ports/store.ts'

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
  readonly sessions: Kept<SessionId, Session>
  /** Of each session, how often which phone has failed on it. */
  readonly failures: Kept<SessionId, ReadonlyMap<DeviceId, number>>
  readonly bonds: Kept<string, CachedBonds>
  readonly devices: Kept<DeviceId, CachedDevice>
  /** Which device has a token, or is offered one. */
  readonly deviceTokens: Kept<string, DeviceId>
  readonly motions: Kept<DeviceId, MotionMemory>
  readonly tenants: Kept<string, Tenant>
  readonly serverCredentials: Kept<string, ServerCredential>
  readonly publishableKeys: Kept<string, PublishableKey>
  /** Those that a tenant has. */
  readonly origins: Kept<string, true>
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
    sessions: new Kept<SessionId, Session>(MAX_SESSIONS),
    failures: new Kept<SessionId, ReadonlyMap<DeviceId, number>>(MAX_SESSIONS),
    bonds: new Kept<string, CachedBonds>(MAX_DEVICES),
    devices: new Kept<DeviceId, CachedDevice>(MAX_DEVICES),
    deviceTokens: new Kept<string, DeviceId>(MAX_DEVICES),
    motions: new Kept<DeviceId, MotionMemory>(MAX_MOTIONS),
    tenants: new Kept<string, Tenant>(MAX_TENANT_ROWS),
    serverCredentials: new Kept<string, ServerCredential>(MAX_TENANT_ROWS),
    publishableKeys: new Kept<string, PublishableKey>(MAX_TENANT_ROWS),
    origins: new Kept<string, true>(MAX_TENANT_ROWS),
  }
  return {
    ...rows,
    clear() {
      for (const kept of Object.values(rows)) kept.clear()
    },
  }
}

/** The entries used last, of two halves: when the newer is full, the older goes as a whole. No bookkeeping at each call. */
export class Kept<Key, Value> {
  readonly #half: number
  #newer = new Map<Key, Value>()
  #older = new Map<Key, Value>()

  constructor(most: number) {
    this.#half = most / 2
  }

  get(key: Key): Value | undefined {
    const value = this.#newer.get(key)
    if (value !== undefined) return value
    const older = this.#older.get(key)
    if (older !== undefined) this.set(key, older)
    return older
  }

  set(key: Key, value: Value): void {
    if (this.#newer.size >= this.#half) {
      this.#older = this.#newer
      this.#newer = new Map()
    }
    this.#newer.set(key, value)
  }

  delete(key: Key): void {
    this.#newer.delete(key)
    this.#older.delete(key)
  }

  clear(): void {
    this.#newer.clear()
    this.#older.clear()
  }
}
