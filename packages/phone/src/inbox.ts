import {
  COUNT_INBOX,
  devicePushPayload,
  inboxPayload,
  inboxResumePayload,
  type InboxPause,
  type InboxPush,
  OPEN_INBOX,
  RESUME_INBOX,
  sanitizeDisplayText,
  SET_PUSH,
} from '@bonded/contract'
import { signPayload } from './assertion.ts'
import type { PhoneDevice } from './device.ts'
import { PhoneError } from './errors.ts'
import { renewToken, withFreshToken } from './keys/renew-token.ts'
import type { Waiting } from './ports.ts'
import { queue } from './queue.ts'
import { type ServerTime, syncTo, timestampAt } from './server-time.ts'
import { call } from './service/call.ts'
import { readInbox, readInboxCount } from './service/read-response.ts'
import { withServerTime } from './service/resync.ts'
import type { PhoneDependencies } from './session/claimed-session.ts'
import { requesterOf, sanitizeTitles, type ShownRequest } from './session/request.ts'

/** A request that waits for the user. Show it in a list, and open one at a time. */
export interface WaitingRequest
  extends Pick<
    ShownRequest,
    'tenant_name' | 'workflow_title' | 'action_title' | 'requester' | 'expires_in_ms'
  > {
  readonly session_id: string
  /** Opens the request on this phone for two minutes. */
  readonly nonce: string
  readonly created_at: string
  /** The origin of the service, so that an item is a handoff for `claim`. */
  readonly origin: string
}

/** A page of the inbox. */
export interface OpenedInbox {
  readonly server_time: string
  /** How many requests wait, on this page or another. */
  readonly waiting: number
  readonly items: readonly WaitingRequest[]
  /** Of the next page; null on the last one. */
  readonly cursor: string | null
  /** The tenants that cannot send requests, because the user reported one. */
  readonly paused: readonly InboxPause[]
  /** How the service can wake this phone; null or absent if it cannot. */
  readonly push?: InboxPush | null
}

/** The requests that wait for the user of a phone. A phone without a device has no inbox. */
export interface PhoneInbox {
  /**
   * How many requests wait. It needs only the device token, so it does not prompt the user.
   *
   * @throws {PhoneError} `refused` (`credential_missing`: the phone has no device), `unreachable`,
   * `answer_unreadable`, `counter_exhausted`, `cancelled`
   */
  waiting(options?: Waiting): Promise<number>
  /**
   * Lists the requests. The key signs, so it prompts the user; it approves nothing. Pass an item to
   * `claim` to open its request.
   *
   * @param options the `cursor` of a page, for the next one
   * @throws {PhoneError} as `waiting`
   */
  open(options?: Waiting & { readonly cursor?: string | null }): Promise<OpenedInbox>
  /**
   * Ends the pause of a tenant. The key signs. Call it only after the user agreed.
   *
   * @throws {PhoneError} as `waiting`, and `refused` (`key_too_new`: use an older phone)
   */
  resume(tenant_id: string, options?: Waiting): Promise<void>
  /**
   * Lets the service wake this phone. The key signs. Call it only after the user agreed.
   *
   * @param endpoint of a Web Push subscription with the `public_key` of `open`; null ends it
   * @throws {PhoneError} as `waiting`, and `refused` (`invalid_member`: no known push service)
   */
  push(endpoint: string | null, options?: Waiting): Promise<void>
}

/**
 * Creates the inbox of a phone, from the options of `createPhone`.
 *
 * @example
 * const inbox = createInbox(options)
 * const { items } = await inbox.open()
 * const claimed = await phone.claim(items[0])
 */
export function createInbox(options: PhoneDependencies): PhoneInbox {
  const phone: PhoneDependencies = Object.freeze({ ...options })
  const oneAtATime = queue()
  const withDevice = <T>(act: (device: PhoneDevice) => Promise<T>) =>
    oneAtATime(async () => {
      const device = await phone.store.device()
      if (device === undefined) throw new PhoneError('refused', { reason: 'credential_missing' })
      return withFreshToken(phone, device, { act, renew: renewToken })
    })
  const count = (device: PhoneDevice, { signal }: Waiting) =>
    call(phone, COUNT_INBOX, { parameters: {}, device, read: readInboxCount, signal })
  /** Calls with the service's time, and a signature over it. */
  const signed = <T>(
    route: typeof OPEN_INBOX | typeof RESUME_INBOX | typeof SET_PUSH,
    { more, payloadOf, read, signal }: SignedCall<T>,
  ) =>
    withDevice(async (device) => {
      const { server_time, waiting } = await count(device, { signal })
      const { device_id, subject_id } = device
      const body = async (time: ServerTime) => {
        const issued_at = timestampAt(time, phone.clock.now())
        const payload = payloadOf({ device_id, subject_id, issued_at, origin: phone.origin })
        return {
          ...more,
          issued_at,
          app_attest: await signPayload(phone, { payload, key: device }),
        }
      }
      const response = await withServerTime(phone, syncTo(server_time, phone.clock), (time) =>
        call(phone, route, { parameters: {}, device, body: () => body(time), read, signal }),
      )
      return { waiting, response }
    })
  return {
    waiting: (waiting = {}) => withDevice(async (device) => (await count(device, waiting)).waiting),
    async open({ cursor, signal } = {}) {
      const more = cursor ? { cursor } : {}
      const call = { more, payloadOf: inboxPayload, read: readInbox, signal }
      const { waiting, response } = await signed(OPEN_INBOX, call)
      return {
        ...response,
        waiting,
        items: response.items.map((item) => ({
          ...item,
          origin: phone.origin,
          tenant_name: sanitizeDisplayText(item.tenant_name),
          workflow_title: sanitizeTitles(item.workflow_title),
          action_title: sanitizeTitles(item.action_title),
          requester: requesterOf(item.requester),
        })),
        paused: response.paused.map((pause) => ({
          ...pause,
          tenant_name: sanitizeDisplayText(pause.tenant_name),
        })),
      }
    },
    async resume(tenant_id, { signal } = {}) {
      const payloadOf = (fields: SignedFields) => inboxResumePayload({ tenant_id, ...fields })
      await signed(RESUME_INBOX, { more: { tenant_id }, payloadOf, read: () => {}, signal })
    },
    async push(endpoint, { signal } = {}) {
      const payloadOf = (fields: SignedFields) => devicePushPayload({ endpoint, ...fields })
      await signed(SET_PUSH, { more: { endpoint }, payloadOf, read: () => {}, signal })
    },
  }
}

type SignedFields = Parameters<typeof inboxPayload>[0]

interface SignedCall<T> extends Waiting {
  /** What the body has beside the signature. */
  readonly more: object
  readonly payloadOf: (fields: SignedFields) => string
  readonly read: (body: unknown) => T
}
