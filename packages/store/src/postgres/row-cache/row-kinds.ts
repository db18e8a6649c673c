import type { DeviceId } from '@bonded/contract'
import type { MotionMemory } from '@bonded/core/domain/motion-memory'
import type { Device, Session } from '@bonded/core/domain/session'
import type { Tenant } from '@bonded/core/domain/tenant'
import type { DeviceToken } from '@bonded/core/ports/tables/device-table'
import type { PublishableKey, ServerCredential } from '@bonded/core/ports/tables/tenant-table'
import { deviceFromRow, tokensOf } from '../../tables/device-table.ts'
import { windowsFromBytes } from '../../tables/motion-row.ts'
import { sessionFromRow } from '../../tables/session-row.ts'
import type { Row } from '../../statement.ts'
import { tenantFromRow } from '../../tables/tenant-row.ts'
import { publishableKeyFromRow, serverCredentialFromRow } from '../../tables/tenant-table.ts'

/**
 * A kind of row that a node caches, and finds by a key of one or two parts.
 *
 * The version of a row is its `xmin`: the transaction that wrote it, which PostgreSQL stores with
 * every row. It changes with each change of the row by any program, and needs no column.
 */
export interface RowKind<Value> {
  readonly name: string
  /** The types of the key's parts, `k.p1` and `k.p2`. */
  readonly types: readonly ('bigint' | 'text')[]
  /** The tables, with the row of the key. */
  readonly from: string
  /** Differs between any two versions of the row. */
  readonly version: string
  /** JSON of the row, which Node parses faster than columns. */
  readonly json: string
  read(found: never, version: string): Value
  /** How many of them stay in the cache. */
  readonly maxRows: number
  /** A unit that writes may assume that a row that is not in the cache does not exist. */
  readonly isUsuallyAbsent?: true
  /** Most calls change the row, so another node that has had one has it outdated. */
  readonly changesOften?: true
}

/** A device with its tokens. */
export interface StoredDevice {
  readonly device: Device
  readonly tokens: readonly { readonly token: DeviceToken; readonly offered: boolean }[]
}

const DEVICE_VERSION = `r.xmin::text || case when exists (
  select 1 from blocked_subject b where b.subject_id = r.subject_id) then 'b' else '' end`
const KEY_VERSION = `r.xmin::text || '/' || t.xmin::text`
const KEY_JSON = `json_build_object('key', row_to_json(r), 'tenant', row_to_json(t))`
interface KeyWithTenant {
  readonly key: Row
  readonly tenant: Row
}

const session: RowKind<Session> = {
  name: 'session',
  types: ['bigint'],
  from: 'session r where r.session_key = k.p1',
  version: 'r.xmin::text',
  json: 'row_to_json(r)',
  read: (found: Row) => sessionFromRow(found),
  maxRows: 4_096,
  changesOften: true,
}

const device: RowKind<StoredDevice> = {
  name: 'device',
  types: ['text'],
  from: 'device r where r.id = k.p1',
  version: DEVICE_VERSION,
  json: 'row_to_json(r)',
  read: readDevice,
  maxRows: 4_096,
}

/** The device of a token. A condition with `or` would read all devices of a new database. */
const token: RowKind<StoredDevice> = {
  ...device,
  name: 'token',
  from: `device r where r.id = (
    select id from device where token_id = k.p1
    union all select id from device where offered_token_id = k.p1 limit 1)`,
}

const tenant: RowKind<Tenant> = {
  name: 'tenant',
  types: ['text'],
  from: 'tenant r where r.id = k.p1',
  version: 'r.xmin::text',
  json: 'row_to_json(r)',
  read: (found: Row) => tenantFromRow(found),
  maxRows: 10_000,
}

const serverCredential: RowKind<ServerCredential> = {
  name: 'server_credential',
  types: ['text'],
  from: 'server_credential r join tenant t on t.id = r.tenant_id where r.key_id = k.p1',
  version: KEY_VERSION,
  json: KEY_JSON,
  read: ({ key, tenant }: KeyWithTenant) =>
    serverCredentialFromRow({ ...key, hash: bytesOf(key.hash) }, tenant),
  maxRows: 10_000,
}

const publishableKey: RowKind<PublishableKey> = {
  name: 'publishable_key',
  types: ['text'],
  from: 'publishable_key r join tenant t on t.id = r.tenant_id where r.publishable_key = k.p1',
  version: KEY_VERSION,
  json: KEY_JSON,
  read: ({ key, tenant }: KeyWithTenant) => publishableKeyFromRow(key, tenant),
  maxRows: 10_000,
}

/** Whether a tenant has an origin. Its row is not read, so its version never changes. */
const origin: RowKind<true> = {
  name: 'origin',
  types: ['text'],
  from: '(values (1)) r where exists (select 1 from tenant_origin o where o.origin = k.p1)',
  version: `'known'`,
  json: `'true'`,
  read: () => true,
  maxRows: 10_000,
}

/** The failures of a device on a session. */
const failures: RowKind<number> = {
  name: 'failures',
  types: ['bigint', 'text'],
  from: 'session_device r where r.session_key = k.p1 and r.device_id = k.p2',
  version: 'r.xmin::text',
  json: 'to_json(r.failures)',
  read: Number,
  maxRows: 4_096,
  isUsuallyAbsent: true,
}

/** A tenant's reference to a subject, and whether the tenant has blocked it. */
export interface StoredReference {
  readonly subjectRef: string
  readonly blocked: boolean
}

const subjectRef: RowKind<StoredReference> = {
  name: 'subject_ref',
  types: ['text', 'text'],
  from: 'pairwise_subject r where r.tenant_id = k.p1 and r.subject_id = k.p2',
  version: 'r.xmin::text',
  json: `json_build_object('subject_ref', r.subject_ref, 'blocked_at', r.blocked_at)`,
  read: (found: Row) => ({
    subjectRef: String(found.subject_ref),
    blocked: found.blocked_at !== null,
  }),
  maxRows: 4_096,
}

/** The stored facts about a device's bonds with a tenant. */
export interface DeviceBonds {
  /** The decayed mean of their continuity. */
  readonly mean: number
  /** Whether one of them was completed. */
  readonly hasCompleted: boolean
}

const continuity: RowKind<DeviceBonds> = {
  name: 'continuity',
  types: ['text', 'text'],
  from: 'device_continuity r where r.tenant_id = k.p1 and r.device_id = k.p2',
  version: 'r.xmin::text',
  json: `json_build_object('mean', r.mean, 'completed_at', r.completed_at)`,
  read: (found: Row) => ({ mean: Number(found.mean), hasCompleted: found.completed_at !== null }),
  maxRows: 4_096,
  changesOften: true,
}

/** The stored motion of a device, about 4 KB each. */
const motion: RowKind<MotionMemory> = {
  name: 'motion',
  types: ['text'],
  from: 'device_motion r where r.device_id = k.p1',
  version: 'r.xmin::text',
  json: 'row_to_json(r)',
  read: (found: Row) => ({
    keyId: String(found.root_key_id),
    windows: windowsFromBytes(bytesOf(found.windows)),
  }),
  maxRows: 1_024,
  changesOften: true,
}

export const KINDS = {
  session,
  device,
  token,
  tenant,
  serverCredential,
  publishableKey,
  origin,
  failures,
  subjectRef,
  continuity,
  motion,
} as const

function readDevice(found: Row, version: string): StoredDevice {
  const row: Row = {
    ...found,
    id: found.id as DeviceId,
    public_key: bytesOf(found.public_key),
    browser_public_key: found.browser_public_key == null ? null : bytesOf(found.browser_public_key),
    token_hash: bytesOf(found.token_hash),
    offered_token_hash: found.offered_token_hash == null ? null : bytesOf(found.offered_token_hash),
    subject_blocked: version.endsWith('b') ? 1 : 0,
  }
  return { device: deviceFromRow(row), tokens: tokensOf(row) }
}

/** `\x…`, as PostgreSQL writes bytes, also in JSON. */
function bytesOf(text: Row[string] | undefined): Uint8Array {
  return new Uint8Array(Buffer.from(String(text).slice(2), 'hex'))
}
