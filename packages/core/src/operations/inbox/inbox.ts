import {
  inboxPayload,
  inboxResumePayload,
  type OpenInboxRequest,
  type ResumeInboxRequest,
} from '@bonded/contract'
import { shownChallenge, stepNonce } from '../../domain/challenge.ts'
import { servesInboxFrom } from '../../domain/inbox.ts'
import { accept, type Result } from '../../domain/rejection.ts'
import type { Device, Instant, Session } from '../../domain/session.ts'
import { isUsable } from '../../domain/subject-keys.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { Tables } from '../../ports/store.ts'
import type { Work } from '../../ports/work.ts'
import { awaitsPhone, usesStepNonce } from '../../protocol/states.ts'
import { mayServe } from './admit-to-inbox.ts'
import { recordPause } from '../audit/audit.ts'
import { takeDeviceRequest } from '../device/device-request.ts'
import type { Invited } from '../phone/read-invitation.ts'
import { noncesFor, type PhoneCaller, type Service } from '../service.ts'
import { pushKeyOf } from './wake-phones.ts'

/** The items of one page. */
const PAGE = 20

/** A request that waits for the user, with the nonce by which this phone opens it. */
export interface WaitingRequest extends Invited {
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
  /** How this phone can be woken; null if it cannot. */
  readonly push: { readonly publicKey: string; readonly isOn: boolean } | null
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
    // One more than a page has shows whether others follow.
    const found = yield* waitingFor(service, tables, taken.value, {
      after: request.cursor,
      limit: PAGE + 1,
    })
    const items = found.slice(0, PAGE)
    return accept({
      now: service.clock.now(),
      items,
      cursor: found.length > PAGE ? (items.at(-1)?.session.id ?? null) : null,
      paused: yield* pausesOf(service, tables, taken.value),
      push: yield* pushOf(service, tables, taken.value),
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
    yield* tables.audit.lock()
    const taken = yield* takeDeviceRequest(service, tables, signed)
    if (!taken.ok) return taken
    const at = service.clock.now()
    const all = yield* tables.subjects.references(device.subjectId)
    const reference = all.find(({ tenantId }) => tenantId === tenant_id)
    if (reference === undefined || !(yield* tables.subjects.resumeInbox(reference, at)))
      return accept(undefined)
    const { tenantId, inboxPausedUntil: before } = reference
    yield* tables.devices.record(device.id, { at, kind: 'inbox_resumed', step: tenantId })
    const change = { action: 'resumeInbox', device, tenantId, before, after: 0 }
    yield* recordPause(service, tables, change)
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

/** The requests that the device may serve, behind one of the list. */
function* waitingFor(
  service: Service,
  tables: Tables,
  device: Device,
  { after, limit }: { readonly after: string | null | undefined; readonly limit: number },
): Work<readonly WaitingRequest[]> {
  const found: WaitingRequest[] = []
  const all = yield* tables.sessions.waiting(queryOf(service, device))
  // From the beginning if the last item has ended: rather twice than never.
  const start = all.findIndex(({ id }) => id === after) + 1
  for (const session of all.slice(start)) {
    // The checks of a session cost statements.
    if (found.length === limit) break
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

function* pushOf(service: Service, tables: Tables, { id }: Device): Work<InboxPage['push']> {
  const key = yield* pushKeyOf(service, tables)
  if (key === undefined) return null
  return { publicKey: key.publicKey, isOn: (yield* tables.push.endpoint(id)) !== undefined }
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
