import type { BlockList } from 'node:net'
import type { EvidenceContext, QrContent, RequestId } from '@bonded/contract'
import type { Nonces } from '../domain/challenge.ts'
import type { ConnectionLimits } from '../domain/connection-limits.ts'
import { isInbox } from '../domain/inbox.ts'
import type { Limits } from '../domain/limits.ts'
import type { Device, Instant, Session } from '../domain/session.ts'
import type { Bus } from '../ports/bus.ts'
import type { Clock } from '../ports/clock.ts'
import type { KeptCheckpoint } from '../ports/kept-checkpoint.ts'
import type { Keyring, Random } from '../ports/keyring.ts'
import type { CredentialUse } from '../collections/credential-use.ts'
import type { WakeUps } from '../collections/wake-ups.ts'
import type { Limiter } from '../ports/limiter.ts'
import type { Meter } from '../ports/meter.ts'
import type { Peers } from '../ports/peers.ts'
import type { CarrierProvider } from '../ports/carrier.ts'
import type { AssertionVerifiers, AttestationVerifiers } from '../ports/devices.ts'
import type { PushTransport } from '../ports/push.ts'
import type { PassportVerifier } from '../ports/passports.ts'
import type { Signer } from '../ports/signer.ts'
import type { RetentionBounds } from '../domain/retention.ts'
import type { Tracer } from '../ports/tracer.ts'
import type { WebhookTransport } from '../ports/webhooks.ts'
import type { Cause, Store } from '../ports/store.ts'
import type { Witness } from '../ports/witness.ts'
import type { PublishableKey, ServerCredential } from '../ports/tables/tenant-table.ts'

/** What every operation works with. */
export interface Service {
  readonly store: Store
  /** The request that is being handled. */
  readonly requestId?: RequestId | undefined
  /**
   * For an action of many units whose first one is in the audit log: its other units, which need no
   * entry each. Absent where the audit log records no action.
   */
  readonly unrecordedStore?: Store
  readonly bus: Bus
  readonly meter: Meter
  /** Undefined where traces are disabled. */
  readonly tracer?: Tracer | undefined
  readonly clock: Clock
  readonly keys: Keyring
  readonly random: Random
  readonly limiter: Limiter
  readonly credentialUse: CredentialUse
  readonly peers: Peers
  readonly assertionVerifiers: AssertionVerifiers
  readonly attestationVerifiers: AttestationVerifiers
  readonly carrier: CarrierProvider
  readonly passports: PassportVerifier
  readonly webhooks: WebhookTransport
  readonly push: PushTransport
  /** The phones to wake. */
  readonly wakeUps: WakeUps
  /** Signs receipts. Undefined where the service makes none. */
  readonly receiptSigner?: Signer | undefined
  /** Cosign the log of receipts. Absent: none. */
  readonly witnesses?: readonly Witness[]
  /** Absent where no node signs, such as in a command. */
  readonly keptCheckpoint?: KeptCheckpoint | undefined
  readonly settings: Settings
  readonly shutdown: Shutdown
  /** When this process began to work, in milliseconds since the epoch. */
  readonly startedAt: Instant
}

/** The shutdown of this process, which the service announces before it happens. */
export interface Shutdown {
  /** Whether the service is about to stop, and therefore is not ready. */
  readonly isAnnounced: boolean
  /** Aborts when waiting polls must respond. */
  readonly endOfWaiting: AbortSignal
}

export interface Settings {
  /** `api_base_url` of every session made here, and the `origin` that phones sign. */
  readonly publicOrigin: string
  /** The relying party id of new `webauthn` keys. */
  readonly rpId: string
  /**
   * Whether all tenants are one organization, so that their pages may use the passkeys of the
   * service. Absent: no.
   */
  readonly relatedOrigins?: boolean
  readonly appScheme: string
  readonly qrContent: QrContent
  /** The operator's apps that handoff links open. */
  readonly appLinks: AppLinks
  /** The version of this program, as the API reports it. */
  readonly version: string
  /** Where no tenant has its own. */
  readonly limits: Limits | 'off'
  /** How long a device token is valid after it was issued. */
  readonly deviceTokenTtlMs: number
  /** A number of proxies in a row, or the addresses of proxies, trusted to name their clients. */
  readonly trustedProxies: number | BlockList
  /** Caps on open connections. */
  readonly connections: ConnectionLimits
  /** Addresses whose connections always count as a backend's. */
  readonly backendAddresses?: BlockList | undefined
  /** Hosts with ports that webhooks may reach although they are not public. Absent: none. */
  readonly webhookHosts?: readonly string[]
  /** Hosts of push services beside the known ones; `*.` permits each name below. */
  readonly pushHosts?: readonly string[]
  /** The periods that a tenant can have. Absent: the default. */
  readonly retentionBounds?: RetentionBounds
  /** How long the reason of a rejection can be searched. Absent: the default. */
  readonly rejectionRetentionMs?: number
  /** How long a receipt can be fetched. Absent: the default. */
  readonly receiptRetentionMs?: number
  /** How long the entries of the log can be fetched. Absent: the default. */
  readonly logRetentionMs?: number
}

/** The apps that a handoff link opens in place of the phone page. */
export interface AppLinks {
  /** App ids: team id, dot, bundle id. */
  readonly apple: readonly string[]
  readonly android: readonly {
    readonly packageName: string
    /**
     * SHA-256 of the signing certificates: upper-case hexadecimal bytes with colons between them.
     */
    readonly certificateDigests: readonly string[]
  }[]
}

export const NO_APP_LINKS: AppLinks = { apple: [], android: [] }

/** A caller that has shown who it is. */
export type Caller =
  | BackendCaller
  | BrowserCaller
  | PhoneCaller
  | PortalCaller
  | { readonly kind: 'anonymous' }
export interface BackendCaller {
  readonly kind: 'backend'
  readonly credential: ServerCredential
}
/** The portal of webhooks. It acts for the backend that asked for its link. */
export interface PortalCaller {
  readonly kind: 'portal'
  readonly credential: ServerCredential
}
export interface BrowserCaller {
  readonly kind: 'browser'
  readonly key: PublishableKey
  readonly origin: string
}
export interface PhoneCaller {
  readonly kind: 'phone'
  readonly device: Device
  /** When the token that the request came with was issued. */
  readonly tokenIssuedAt: Instant
}

/** Returns the key that a caller presented, as an operator lists it; null without one. */
export function keyIdOf(caller: Caller): string | null {
  if (caller.kind === 'backend' || caller.kind === 'portal') return caller.credential.keyId
  return caller.kind === 'browser' ? caller.key.key : null
}

/** Returns the service for one request: the events that it stores name their cause. */
export function serviceDuring(service: Service, cause: Cause): Service {
  const { requestId } = cause
  const during = { ...service, store: service.store.during(cause), requestId }
  return { ...during, ...service.tracer?.timed(requestId, during) }
}

/** The session's nonces that a page shows, under the root key it was made with. */
export function noncesOf({ keys }: Service, session: Session): Nonces {
  return keys.nonces(session.rootKeyId, session.id)
}

/** The nonces by which a device may act on the session. Those of a page open none of an inbox. */
export function noncesFor({ keys }: Service, session: Session, device: Device): Nonces {
  const { rootKeyId, id } = session
  return isInbox(session) ? keys.inboxNonces(rootKeyId, id, device.id) : keys.nonces(rootKeyId, id)
}

/** Whom and what an evidence summary is for. */
export function evidenceContextOf(
  session: Session,
  device: Device,
  nonce: string,
): EvidenceContext {
  return {
    session_id: session.id,
    nonce,
    device_id: device.id,
    subject_id: device.subjectId,
    tenant_id: session.tenantId,
  }
}
