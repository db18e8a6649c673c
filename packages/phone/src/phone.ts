import {
  type DeviceRegistration,
  type Handoff,
  type Invitation,
  parseHandoff,
} from '@bonded/contract'
import { type PhoneDevice, registerDevice } from './device.ts'
import { PhoneError } from './errors.ts'
import { recoverDevice } from './keys/recover-device.ts'
import { renewIfDue, renewToken, withFreshToken } from './keys/renew-token.ts'
import {
  acceptKey,
  type AddedKey,
  addKey,
  type ListedKey,
  listKeys,
  proposeKey,
  removeKey,
} from './keys/subject-keys.ts'
import { originOf } from './origin.ts'
import type { Waiting } from './ports.ts'
import { queue } from './queue.ts'
import { type Approving, approve } from './session/approve.ts'
import {
  claim,
  type ClaimedSession,
  getSession,
  type PhoneDependencies,
} from './session/claimed-session.ts'
import { fetchEvidence, type Gathered } from './session/evidence.ts'
import type { PhoneSignals } from './session/signals.ts'
import { type Following, waitForEnd } from './session/completion.ts'
import { decline, type Declining } from './session/decline.ts'
import { readInvitation } from './session/invitation.ts'
import type { KeyRequirement } from './signers/webauthn.ts'

/**
 * The options of a phone. A phone serves one origin with one key, so no other service accepts its
 * signatures.
 */
export type PhoneOptions = PhoneDependencies

/** A phone towards one service. */
export interface Phone {
  /**
   * Reads who requests approval, and which key the phone needs: for a phone that has none yet, to
   * show before it creates one. It claims nothing.
   *
   * @throws {PhoneError} `handoff_unreadable`, `origin_not_usable`, `refused`, `unreachable`,
   * `answer_unreadable`, `cancelled`
   */
  readInvitation(handoff: string | Handoff, options?: Waiting): Promise<Invitation>
  /**
   * Returns the stored device, or registers a new one.
   *
   * @param invitation of the session that the key is for. A browser key needs it: it cannot gain an
   * attestation later. Without it, the key is discoverable and has no attestation
   * @throws {PhoneError} `refused` (`key_not_attested` and `attestation_invalid`: the authenticator
   * cannot make the key that the session needs), `unreachable`, `answer_unreadable`
   */
  register(invitation?: { readonly registration: KeyRequirement }): Promise<PhoneDevice>
  /**
   * Finds this phone's device by a discoverable browser key, and stores it: for a phone that has
   * lost its record of the device. It prompts once, and approves nothing. Call it only after the
   * user said that the phone was used before.
   *
   * @param invitation of the session that the phone opens
   * @throws {PhoneError} `user_verification_failed`, also where there is no such key, `refused`
   * (`assertion_invalid`: the service does not accept the key), `authenticator_unusable`,
   * `unreachable`, `answer_unreadable`
   */
  recover(invitation?: {
    readonly registration: Pick<KeyRequirement, 'rp_id'>
  }): Promise<PhoneDevice>
  /**
   * Claims the session of a scanned text. If the phone has no device, it registers one first, which
   * fits the session.
   *
   * @throws {PhoneError} `handoff_unreadable`, `origin_not_usable`, `refused`, `unreachable`,
   * `answer_unreadable`, `cancelled`
   */
  claim(handoff: string | Handoff, options?: Waiting): Promise<ClaimedSession>
  /**
   * Reads a claimed session.
   *
   * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `cancelled`
   */
  getSession(claimed: ClaimedSession, options?: Waiting): Promise<ClaimedSession>
  /**
   * Fetches the evidence of a claimed session before its user decides, so that the approval need
   * not wait for it: return it from `gather`, with the same signals. It approves nothing. The
   * service accepts six evidence requests for a session, so call it once. It makes one attempt.
   *
   * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `counter_exhausted`,
   * `cancelled`
   */
  fetchEvidence(
    claimed: ClaimedSession,
    options: Waiting & { readonly signals: PhoneSignals },
  ): Promise<Gathered>
  /**
   * Signs and answers step-ups until the session is bonded, has ended, or waits for the page's
   * browser (`awaitsBrowser`): then tell the user to confirm on the page. Call it only after the
   * user agreed. Where `claimed.browser_key` is `wanted`, it first creates a browser key.
   *
   * @throws {PhoneError} `refused`, `step_up_unsupported`, `not_awaiting`, `unreachable`,
   * `answer_unreadable`, `cancelled`
   */
  approve(claimed: ClaimedSession, options: Approving): Promise<ClaimedSession>
  /**
   * Declines the session. In a quorum, it also takes an approval back, until the backend acts.
   *
   * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `cancelled`
   */
  decline(claimed: ClaimedSession, options: Waiting & Declining): Promise<ClaimedSession>
  /**
   * Rotates the device token and stores the new one. `claim` does so when the rotation is due or
   * the token has expired. Call this when the token may have been stolen.
   *
   * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `counter_exhausted`,
   * `cancelled`
   */
  renewToken(claimed: ClaimedSession, options?: Waiting): Promise<ClaimedSession>
  /**
   * The keys of the user, oldest first, this phone's among them. A key that the user does not
   * recognize may belong to an attacker.
   *
   * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `cancelled`
   */
  listKeys(options?: Waiting): Promise<readonly ListedKey[]>
  /**
   * Returns the registration of this new phone's key for another phone of the user. Transfer it to
   * that phone's `addKey` within five minutes.
   *
   * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`
   */
  proposeKey(): Promise<DeviceRegistration>
  /**
   * Approves another phone's key for the user of this phone, and registers it. Transfer the result
   * to that phone's `acceptKey` over a private channel. Call it only after the user agreed.
   *
   * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `counter_exhausted`,
   * `cancelled`
   */
  addKey(registration: DeviceRegistration, options?: Waiting): Promise<AddedKey>
  /**
   * Stores the key that another phone has added for this one.
   *
   * @throws {PhoneError} `origin_not_usable`
   */
  acceptKey(added: AddedKey): Promise<PhoneDevice>
  /**
   * Removes a key of the user, for example of a lost phone. After removing its own key, clear the
   * store.
   *
   * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `counter_exhausted`,
   * `cancelled`
   */
  removeKey(device_id: string, options?: Waiting): Promise<void>
  /**
   * Removes the browser key of a phone of the user, for example after its passkey was shared. The
   * phone stays, and registers another one with its next approval that needs one.
   *
   * @throws {PhoneError} `refused`, `unreachable`, `answer_unreadable`, `counter_exhausted`,
   * `cancelled`
   */
  removeBrowserKey(device_id: string, options?: Waiting): Promise<void>
  /**
   * Waits for `completed`, `killed` or `expired`. `onChange` reports what happens before, such as
   * the bond after the page's browser has confirmed.
   *
   * @throws {PhoneError} `refused`, `unreachable`, `cancelled`
   */
  waitForEnd(claimed: ClaimedSession, options?: Following): Promise<ClaimedSession>
}

/**
 * Creates a phone from a signer, a store, fetch and a clock. It needs no Node and no DOM.
 *
 * @example
 * const phone = createPhone({ origin, signer, sha256, store, fetch, clock, WebSocket })
 * const claimed = await phone.claim(scannedText)
 * show(requestOf(claimed.session)) // and ask the user
 * const bonded = await phone.approve(claimed, { gather })
 * const { session } = await phone.waitForEnd(bonded) // session.state === 'completed'
 */
export function createPhone(options: PhoneOptions): Phone {
  const phone: PhoneDependencies = Object.freeze({ ...options })
  const oneAtATime = queue()
  // Two registrations at once would leave a device without a stored key.
  const registering = queue()
  const register = (
    requirement: () => Promise<KeyRequirement | undefined> = async () => undefined,
  ) => registering(() => registerDevice(phone, requirement))
  const withToken = async <T>(act: (device: PhoneDevice) => Promise<T>) =>
    withFreshToken(phone, await register(), { act, renew: renewToken })
  const readHandoff = (text: string | Handoff) => {
    const handoff = typeof text === 'string' ? parseHandoff(text) : text
    if (handoff === undefined) throw new PhoneError('handoff_unreadable')
    if (originOf(handoff, phone.origin) !== phone.origin)
      throw new PhoneError('origin_not_usable', { reason: 'origin_other' })
    return handoff
  }
  return {
    readInvitation: async (text, waiting) =>
      readInvitation(phone, { ...waiting, handoff: readHandoff(text) }),
    register: (invitation) => register(async () => invitation?.registration),
    recover: (invitation) =>
      registering(() => recoverDevice(phone, invitation?.registration.rp_id)),
    async claim(text, { signal } = {}) {
      const handoff = readHandoff(text)
      const device = await register(
        async () => (await readInvitation(phone, { handoff, signal })).registration,
      )
      const claimed = await withFreshToken(phone, device, {
        act: (current) => claim(phone, current, { handoff, signal }),
        renew: (...renewal) => oneAtATime(() => renewToken(...renewal)),
      })
      return oneAtATime(() => renewIfDue(phone, claimed, { signal }))
    },
    getSession: (claimed, waiting) => getSession(phone, claimed, { ...waiting }),
    fetchEvidence: (claimed, { signals, signal }) =>
      oneAtATime(() => fetchEvidence(phone, claimed, { signals, signal, retry: false })),
    approve: (claimed, approving) => approve(phone, claimed, { ...approving, oneAtATime }),
    decline: (claimed, declining) => decline(phone, claimed, declining),
    renewToken: (claimed, waiting) =>
      oneAtATime(async () => ({
        ...claimed,
        device: await renewToken(phone, claimed, { ...waiting }),
      })),
    listKeys: (waiting) =>
      oneAtATime(() => withToken((device) => listKeys(phone, device, { ...waiting }))),
    proposeKey: () => proposeKey(phone),
    addKey: (registration, waiting) =>
      oneAtATime(() => withToken((device) => addKey(phone, device, { ...waiting, registration }))),
    acceptKey: (added) => registering(() => acceptKey(phone, added)),
    removeKey: (device_id, waiting) =>
      oneAtATime(() => withToken((device) => removeKey(phone, device, { ...waiting, device_id }))),
    removeBrowserKey: (device_id, waiting) =>
      oneAtATime(() =>
        withToken((device) =>
          removeKey(phone, device, { ...waiting, device_id, purpose: 'browser' }),
        ),
      ),
    waitForEnd: (claimed, waiting) => waitForEnd(phone, claimed, waiting),
  }
}
