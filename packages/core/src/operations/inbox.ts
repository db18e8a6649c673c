import {
  inboxPayload,
  inboxResumePayload,
  type OpenInboxRequest,
  type ResumeInboxRequest,
  type TenantId,
} from '@bonded/contract'
import { shownChallenge, stepNonce } from '../domain/challenge.ts'
import { servesInboxFrom } from '../domain/inbox.ts'
import { accept, type Result } from '../domain/rejection.ts'
import type { Device, Instant, Session } from '../domain/session.ts'
import { isUsable } from '../domain/subject-keys.ts'
import type { Tenant } from '../domain/tenant.ts'
import type { Tables } from '../ports/store.ts'
import type { Work } from '../ports/work.ts'
import { awaitsPhone, usesStepNonce } from '../protocol/states.ts'
import { mayServe } from './admit-to-inbox.ts'
import { takeDeviceRequest } from './device-request.ts'
import { noncesFor, type PhoneCaller, type Service } from './service.ts'

/** The items of one page. */
const PAGE = 20

/** A request that waits for the user, with the nonce by which this phone opens it. */
export interface WaitingRequest {
  readonly session: Session
  readonly tenant: Tenant
  readonly nonce: string
}

/** A tenant whose requests the user has paused. */
export interface InboxPause {
  readonly tenant: Tenant
  readonly until: Instant
}

/** A page of the inbox. */
export interface InboxPage {
  readonly now: Instant
  readonly items: readonly WaitingRequest[]
  /** The last item of the page, if others follow. */
  readonly cursor: Session['id'] | null
  readonly paused: readonly InboxPause[]
}

/**
 * How many requests wait for the user; none for a phone that may not serve them. A device token
 * alone learns no more than that.
 */
export async function countInbox(service: Service, { device }: PhoneCaller): Promise<number> {
  if (!isUsable(device)) return 0
  return service.store.read((tables) => tables.sessions.countWaiting(queryOf(service, device)))
}

/**
 * Lists the requests that wait for the user, against an assertion of the phone's key: a thief of
 * its token gets no nonce. A request that this phone may not serve is not listed.
 */
export function openInbox(
  service: Service,
  { device }: PhoneCaller,
  request: OpenInboxRequest,
): Promise<Result<InboxPage>> {
  const payload = inboxPayload(signedMembers(service, device, request))
  const signed = { call: 'inbox', device, payload, signed: request } as const
  return service.store.write(function* (tables): Work<Result<InboxPage>> {
    const taken = yield* takeDeviceRequest(service, tables, signed)
    if (!taken.ok) return taken
    const all = yield* waitingFor(service, tables, taken.value)
    // From the beginning if the last item has ended: rather twice than never.
    const start = all.findIndex(({ session }) => session.id === request.cursor) + 1
    const items = all.slice(start, start + PAGE)
    return accept({
      now: service.clock.now(),
      items,
      cursor: all.length > start + PAGE ? (items.at(-1)?.session.id ?? null) : null,
      paused: yield* pausesOf(service, tables, taken.value),
    })
  })
}

/** Ends the pause of a tenant, against an assertion of the phone's key. */
export function resumeInbox(
  service: Service,
  { device }: PhoneCaller,
  request: ResumeInboxRequest,
): Promise<Result<void>> {
  const { tenant_id } = request
  const payload = inboxResumePayload({ ...signedMembers(service, device, request), tenant_id })
  const signed = { call: 'resume', device, payload, signed: request } as const
  return service.store.write(function* (tables): Work<Result<void>> {
    const taken = yield* takeDeviceRequest(service, tables, signed)
    if (!taken.ok) return taken
    const at = service.clock.now()
    const reference = { tenantId: tenant_id as TenantId, subjectId: device.subjectId }
    if (yield* tables.subjects.resumeInbox(reference, at))
      yield* tables.devices.record(device.id, { at, kind: 'inbox_resumed', step: tenant_id })
    return accept(undefined)
  })
}

function signedMembers(
  { settings }: Service,
  device: Device,
  { issued_at }: { readonly issued_at: string },
) {
  const { id: device_id, subjectId: subject_id } = device
  return { device_id, subject_id, issued_at, origin: settings.publicOrigin }
}

function queryOf({ clock }: Service, device: Device) {
  return { device, from: servesInboxFrom(device), now: clock.now() }
}

function* waitingFor(
  service: Service,
  tables: Tables,
  device: Device,
): Work<readonly WaitingRequest[]> {
  const found: WaitingRequest[] = []
  for (const session of yield* tables.sessions.waiting(queryOf(service, device))) {
    const tenant = yield* tables.tenants.find(session.tenantId)
    const now = service.clock.now()
    if (tenant === undefined || !service.keys.holds(session.rootKeyId)) continue
    if (!awaitsPhone(session, now) || tenant.suspendedAt !== undefined) continue
    if (!(yield* mayServe(service, tables, { session, tenant, device }))) continue
    const nonces = noncesFor(service, session, device)
    const nonce = usesStepNonce(session)
      ? stepNonce(session, nonces)
      : nonces.nonceAt(shownChallenge(session, now).index)
    found.push({ session, tenant, nonce })
  }
  return found
}

function* pausesOf(
  { clock }: Service,
  tables: Tables,
  { subjectId }: Device,
): Work<readonly InboxPause[]> {
  const found: InboxPause[] = []
  for (const { tenantId, inboxPausedUntil } of yield* tables.subjects.references(subjectId)) {
    const tenant = clock.now() < inboxPausedUntil && (yield* tables.tenants.find(tenantId))
    if (tenant) found.push({ tenant, until: inboxPausedUntil })
  }
  return found
}
