import { decodeBase64url, encodeBase64url, type Handoff, makeId } from '@bonded/contract'
import type { Device } from '@bonded/core/domain/session'
import type { Random } from '@bonded/core/ports/keyring'
import {
  authenticatorData,
  type ClaimedSession,
  createInbox,
  createPhone,
  createWebAuthnSigner,
  describeRequest,
  PhoneError,
  type PhoneOptions,
  Secret,
  type Signer,
} from '@bonded/phone'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { simulateCarriedPhone } from '../../../packages/simulator/src/sensors.ts'
import { type SigningKey, signingKey } from '../platform/keys.ts'
import { fetchAs } from './http.ts'
import { type GameService, RP_ID, SERVICE_ORIGIN, TENANT } from './service.ts'

const DAY_MS = 24 * 60 * 60_000
/** Old enough to be known to the bank. */
const KEY_AGE_MS = 30 * DAY_MS

/** What a key of a browser or a phone signs, in the form of `toJSON()`. */
export interface Passkey {
  readonly id: string
  /** Signs a challenge as the browser does for a page of this origin. */
  answer(
    challenge: Uint8Array,
    origin: string,
  ): {
    readonly clientDataJSON: Uint8Array
    readonly authenticatorData: Uint8Array
    readonly signature: Uint8Array
  }
}

/** A phone with a registered key, on the library that phones have. */
export interface Phone {
  /** The bank's name for the phone's user. */
  readonly subjectRef: string
  readonly key: SigningKey
  readonly passkey: Passkey
  /** The session that the phone has opened, as its screen shows it. */
  readonly opened: ClaimedSession['session'] | undefined
  /** The text of its screen, as the phone library words it. */
  readonly screen: string
  /** Scans a code. @returns what came of it, in the words of the service */
  scan(code: string): Promise<string>
  /** Opens the latest request of its inbox. @returns the same */
  openLatest(): Promise<string>
  approve(): Promise<string>
  decline(): Promise<string>
}

/** Gives the phone of a party a key that is registered already. */
export async function registeredPhone(
  game: GameService,
  of: {
    readonly party: string
    readonly format: 'software' | 'webauthn'
    /** Whether the user has bonded with the bank before, and has an inbox. */
    readonly isKnown?: boolean
  },
): Promise<Phone> {
  const { party, format, isKnown = false } = of
  const { service } = game
  const random = game.randomOf(party)
  const key = signingKey(random.bytes())
  const passkey = passkeyOf(key)
  const keyId = format === 'webauthn' ? passkey.id : encodeBase64url(sha256(key.publicKey))
  const device = deviceOf(game, { random, format, publicKey: key.publicKey, keyId })
  const token = { id: device.id, hash: random.bytes(), issuedAt: service.clock.now() }
  const { subjectId } = device
  const subjectRef = service.keys.subjectRef(TENANT.id, subjectId)
  await service.store.write(function* ({ devices }) {
    yield* devices.register(device, token)
    if (isKnown) yield* devices.pairwise({ tenantId: TENANT.id, subjectId, subjectRef })
  })
  const options: PhoneOptions = {
    origin: SERVICE_ORIGIN,
    signer: signerOf(key, passkey, format),
    sha256,
    store: storeOf(device),
    fetch: fetchAs(game, async () => ({
      kind: 'phone',
      device: (await service.store.read((tables) => tables.devices.find(device.id))) ?? device,
      tokenIssuedAt: token.issuedAt,
    })),
    clock: { now: () => service.clock.elapsed(), schedule: neverWaits },
    isolatesValues: true,
    showsText: true,
    showsQuorum: true,
  }
  const phone = createPhone(options)
  const inbox = createInbox(options)
  let claimed: ClaimedSession | undefined
  const step = async (act: (known: ClaimedSession) => Promise<ClaimedSession>) =>
    claimed === undefined
      ? 'nothing is open'
      : said(async () => {
          claimed = await act(claimed as ClaimedSession)
          return claimed.session.state
        })
  const open = (found: () => Promise<string | Handoff | undefined>) =>
    said(async () => {
      const handoff = await found()
      if (handoff === undefined) return 'no request waits'
      claimed = await phone.claim(handoff)
      return claimed.session.state
    })
  return {
    subjectRef,
    key,
    passkey,
    get opened() {
      return claimed?.session
    },
    get screen() {
      return claimed === undefined ? '' : describeRequest(claimed.session)
    },
    scan: (code) => open(async () => code),
    openLatest: () => open(async () => (await inbox.open()).items[0]),
    approve: () => step((known) => phone.approve(known, { gather: () => signals(game, random) })),
    decline: () => step((known) => phone.decline(known, { reason: 'user_declined' })),
  }
}

/** A key that was registered long ago, of a user of its own. */
function deviceOf(
  { service }: GameService,
  of: Pick<Device, 'format' | 'publicKey' | 'keyId'> & { readonly random: Random },
): Device {
  const { random, format, publicKey, keyId } = of
  return {
    id: makeId('dev', random.id()),
    subjectId: makeId('sub', random.id()),
    format,
    keyId,
    publicKey,
    environment: 'sandbox',
    status: 'active',
    appId: format === 'webauthn' ? RP_ID : 'software',
    counter: 0,
    lastIssuedAt: null,
    createdAt: service.clock.now() - KEY_AGE_MS,
    addedBy: null,
    ...(format === 'webauthn' && { webauthn: { attested: false, backupEligible: false } }),
  }
}

/** A phone would wait and try again after a call without a response. */
function neverWaits(): never {
  throw new Error('a phone got no response')
}

function signals({ service }: GameService, random: ReturnType<GameService['randomOf']>) {
  return {
    local_auth: {
      result: 'verified' as const,
      method: 'biometric' as const,
      at_ms: service.clock.elapsed(),
    },
    sensor_continuity: simulateCarriedPhone(() => (random.bytes()[0] ?? 0) / 256),
  }
}

/** The state after a step of a phone, or the reason why the service has rejected it. */
async function said(act: () => Promise<string>): Promise<string> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof PhoneError) return error.reason ?? error.code
    throw error
  }
}

function storeOf({ id, subjectId, format, keyId }: Device) {
  let counter = 0
  const device = {
    origin: SERVICE_ORIGIN,
    device_id: id,
    subject_id: subjectId,
    device_token: new Secret(`dt_${id}`),
    key_id: keyId,
    rp_id: format === 'webauthn' ? RP_ID : undefined,
    format,
  }
  return { device: async () => device, keep: async () => {}, nextCounter: async () => ++counter }
}

function signerOf(key: SigningKey, passkey: Passkey, format: 'software' | 'webauthn'): Signer {
  if (format === 'software')
    return { publicKey: async () => key.publicKey, sign: async (message) => key.sign(message) }
  return createWebAuthnSigner({
    rpId: RP_ID,
    rpName: TENANT.name,
    keyName: 'Approvals',
    random: () => new Uint8Array(),
    credentials: {
      create: () => Promise.reject(new Error('every key of a game is registered')),
      get: async ({ publicKey: { challenge } }) => ({
        id: passkey.id,
        rawId: decodeBase64url(passkey.id),
        type: 'public-key',
        response: passkey.answer(challenge, SERVICE_ORIGIN),
      }),
    },
  })
}

/** A synced passkey, whose counter stays 0. */
function passkeyOf(key: SigningKey): Passkey {
  // A counter of the library begins at 1.
  const data = Uint8Array.from(authenticatorData(sha256(utf8ToBytes(RP_ID)), 1)).fill(0, 33)
  return {
    id: encodeBase64url(sha256(key.publicKey)),
    answer(challenge, origin) {
      const clientDataJSON = utf8ToBytes(
        JSON.stringify({
          type: 'webauthn.get',
          challenge: encodeBase64url(challenge),
          origin,
          crossOrigin: false,
        }),
      )
      const signature = key.sign(concatBytes(data, sha256(clientDataJSON)))
      return { clientDataJSON, authenticatorData: data, signature }
    },
  }
}
