import type {
  DeviceId,
  EventId,
  RequestId,
  SessionId,
  SubjectId,
  TenantId,
  WebhookEndpointId,
} from '@bonded/contract'
import { canonicalJson } from '@bonded/contract'
import type { Sha256 } from './merkle.ts'
import type { Instant } from './session.ts'

/**
 * What a command or an endpoint does, for the audit log: a change leaves an entry in its
 * transaction, and a read of a user's data leaves one before the data is shown.
 */
export type AuditClass = 'changes' | 'reads_person' | 'neither'

/** Who acts. */
export interface AuditActor {
  /**
   * `operator`: on this machine. `console`: signed in. `tenant`: with a server credential. `user`:
   * with a phone.
   */
  readonly kind: 'operator' | 'console' | 'tenant' | 'user'
  /**
   * The login of the operator, the subject of the sign-in, the id of the credential, or the
   * reference of the phone.
   */
  readonly name: string
  /** The issuer of the sign-in. */
  readonly issuer?: string | undefined
  readonly address?: string | undefined
}

/** What an action changes, as far as its call names it. */
export interface AuditTarget {
  readonly tenantId?: TenantId | undefined
  readonly key?: string | undefined
  /** The key that replaces it. */
  readonly successor?: string | undefined
  readonly endpointId?: WebhookEndpointId | undefined
  readonly eventId?: EventId | undefined
  readonly sessionId?: SessionId | undefined
  readonly deviceId?: DeviceId | undefined
  readonly subjectId?: SubjectId | undefined
  readonly subjectRef?: string | undefined
}

/** An action that the audit log records. */
export interface AuditedAction {
  /** The words of the command, or the name of the endpoint. */
  readonly action: string
  readonly actor: AuditActor
  readonly requestId: RequestId
  readonly target: AuditTarget
  /** What the operator gave as a reason. */
  readonly reason?: string | undefined
}

/** A stored entry. Nested members are JSON, as it was hashed. */
export interface AuditEntry {
  /** 1 for the first entry; each has the number after the one before. */
  readonly number: number
  readonly at: Instant
  readonly action: string
  readonly actorKind: AuditActor['kind']
  readonly actor: string
  readonly issuer: string | null
  readonly address: string | null
  readonly requestId: RequestId
  readonly tenantId: TenantId | null
  /** The keyed reference of the user; null if the action is about none. */
  readonly person: string | null
  readonly target: string
  /** The members that the action has changed, as they were; null for what was created or read. */
  readonly valueBefore: string | null
  readonly valueAfter: string | null
  /** `success`, or the code of the rejection. */
  readonly result: string
  readonly reason: string | null
  /** The hash of the entry before, in hexadecimal digits; empty for the first one. */
  readonly previous: string
  /** Of an entry whose retention has ended, the hash of its content, which is empty. */
  readonly contentHash: string | null
}

/** Names of this file, which no receipt begins with: an entry can never pass for a receipt. */
const ENTRY_DOMAIN = 'bonded-audit-entry/v1\n'
/** 24 bytes, which the number of entries completes to a leaf of the log. */
const MARKER_PREFIX = new TextEncoder().encode('bonded audit entries v1:')
const MARKER_BYTES = 32

/**
 * The hash of an entry, with all that it says: a leaf of the log. It covers the content by its
 * hash, so it stays the same after the retention of the content has ended.
 */
export function auditLeaf(sha256: Sha256, entry: AuditEntry): Uint8Array {
  const { number, at, tenantId, previous } = entry
  const content = contentHash(sha256, entry)
  const text = canonicalJson({ number, at, tenantId, previous, content })
  return sha256(new TextEncoder().encode(`${ENTRY_DOMAIN}${text}`))
}

/** What an entry has after the end of its retention. */
const RETAINED = ['number', 'at', 'tenantId', 'previous', 'contentHash']

/** The hash of what the retention deletes. The request id makes it impossible to guess. */
export function contentHash(sha256: Sha256, entry: AuditEntry): string {
  const content = Object.entries(entry).filter(([member]) => !RETAINED.includes(member))
  const text = canonicalJson(Object.fromEntries(content))
  return entry.contentHash ?? hex(sha256(new TextEncoder().encode(text)))
}

/**
 * The leaf after each run of audit entries. It states how many entries the log has by then, so that
 * a reader of the log alone knows which leaves are entries, and that none may be missing.
 */
export function auditMarker(entries: number): Uint8Array {
  const marker = new Uint8Array(MARKER_BYTES)
  marker.set(MARKER_PREFIX)
  new DataView(marker.buffer).setBigUint64(MARKER_PREFIX.length, BigInt(entries))
  return marker
}

/** The number of entries that a leaf states; undefined if it is not a marker. */
export function markedEntries(leaf: Uint8Array): number | undefined {
  if (MARKER_PREFIX.some((byte, index) => leaf[index] !== byte)) return undefined
  const { buffer, byteOffset } = leaf
  return Number(new DataView(buffer, byteOffset).getBigUint64(MARKER_PREFIX.length))
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
