import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deviceRecoveryPayload, encodeBase64url } from '@bonded/contract'
import {
  createPhone,
  createWebAuthnSigner,
  isRejection,
  type KeyRequirement,
  PhoneError,
  type PhoneDevice,
} from '../src/index.ts'
import { createKey, readKey, sha256, softwareSigner } from '../../simulator/src/software-key.ts'
import { jumpingClock } from './clocks.ts'

const ORIGIN = 'https://bond.bank.example'
const SESSION_ID = `sess_${'1'.repeat(22)}`
const NONCE = 'n'.repeat(43)
const LINK = `${ORIGIN}/bond?session_id=${SESSION_ID}&nonce=${NONCE}`
const KEY_ID = encodeBase64url(Uint8Array.of(1, 2, 3))
/** `{"fmt": "none"` and `{"fmt": "packed"`, as CBOR begins them. */
const NONE = Buffer.concat([Buffer.of(0xa3, 0x63), Buffer.from('fmtdnone')])
const PACKED = Buffer.concat([Buffer.of(0xa3, 0x63), Buffer.from('fmtfpacked')])

/** The response to a registration or a recovery. */
const REGISTERED = {
  device_id: `dev_${'1'.repeat(22)}`,
  subject_id: `sub_${'1'.repeat(22)}`,
  key_id: KEY_ID,
  format: 'webauthn',
  environment: 'production',
  device_token: `dt_${'1'.repeat(10)}_${'a'.repeat(43)}`,
  device_token_renew_at: '2026-11-23T09:00:00.000Z',
  device_token_expires_at: '2026-11-23T09:00:00.000Z',
}

type Creation = Parameters<
  Parameters<typeof createWebAuthnSigner>[0]['credentials']['create']
>[0]['publicKey']
type Request = Parameters<
  Parameters<typeof createWebAuthnSigner>[0]['credentials']['get']
>[0]['publicKey']

/** A password manager's object has members of its own, or fails. */
const toJSON = () => assert.fail('must not be called')

/** A browser with an authenticator that gives this attestation, and a service. */
function scene({
  attestation = NONE,
  registration = { rp_id: 'bank.example', attestation: 'none' },
  responses = {},
  software = false,
}: {
  attestation?: Buffer
  registration?: KeyRequirement
  /** The reason of a rejection, by the end of the path. */
  responses?: Readonly<Record<string, readonly [status: number, reason: string]>>
  /** Whether the phone has a software key instead. */
  software?: boolean
} = {}) {
  const created: Creation[] = []
  const signed: Request[] = []
  const discarded: object[] = []
  const sent: { path: string; nonce: string | undefined; body: string | undefined }[] = []
  let stored: PhoneDevice | undefined
  let random = 0
  const signer = createWebAuthnSigner({
    credentials: {
      async create({ publicKey }) {
        created.push(publicKey)
        const response = { clientDataJSON: Buffer.from('{}'), attestationObject: attestation }
        return { id: KEY_ID, rawId: Buffer.from(KEY_ID, 'base64url'), response, toJSON }
      },
      async get({ publicKey }) {
        signed.push(publicKey)
        const bytes = new ArrayBuffer(1)
        return {
          id: KEY_ID,
          rawId: Buffer.from(KEY_ID, 'base64url'),
          toJSON,
          response: { authenticatorData: bytes, clientDataJSON: bytes, signature: bytes },
        }
      },
    },
    signalUnknownCredential: async (key) => void discarded.push(key),
    rpId: 'bond.bank.example',
    rpName: 'Bank',
    keyName: 'Approvals',
    random: (length) => new Uint8Array(length).fill(++random),
  })
  const bodies: Readonly<Record<string, object>> = {
    '/invitation': {
      state: 'pending',
      ended_reason: null,
      tenant_name: 'Bank',
      tenant_logo_url: null,
      requesting_origin: null,
      registration: {
        ...registration,
        formats: ['webauthn'],
        browser_key: 'none',
        names_user: false,
      },
    },
    '/challenges': {
      challenge: 'A'.repeat(43),
      expires_at: '2026-11-23T09:00:00.000Z',
      rp_id: 'bond.bank.example',
    },
    '/devices': REGISTERED,
    '/recovery': REGISTERED,
  }
  const phone = createPhone({
    origin: ORIGIN,
    signer: software ? softwareSigner(async () => readKey(createKey())) : signer,
    sha256,
    clock: jumpingClock(0),
    store: {
      device: async () => stored,
      keep: async (device) => void (stored = device),
      nextCounter: () => Promise.reject(new Error('a WebAuthn key counts itself')),
    },
    async fetch(url, { headers, body: text }) {
      const path = new URL(url).pathname
      sent.push({ path, nonce: headers['x-bond-nonce'], body: text })
      assert.ok(!url.includes(NONCE), 'a nonce must not be in a URL that proxies log')
      const end = /\/\w+$/.exec(path)?.[0] ?? ''
      const [status, reason] = responses[end] ?? []
      const body =
        reason === undefined
          ? bodies[end]
          : { error: { code: 'x', message: '', requestId: 'req', reason } }
      return {
        status: status ?? (end === '/invitation' ? 200 : 201),
        headers: { get: () => null },
        text: async () => JSON.stringify(body),
      }
    },
  })
  return { phone, signer, created, signed, discarded, sent, stored: () => stored }
}

test('creates a discoverable key without an attestation where the workflow needs none', async () => {
  const { phone, created, stored } = scene()
  await phone.register(await phone.readInvitation(LINK))
  assert.equal(created.length, 1)
  const [options] = created
  assert.deepEqual(
    [options?.rp.id, options?.attestation, options?.authenticatorSelection],
    [
      'bank.example',
      'none',
      {
        authenticatorAttachment: 'platform',
        userVerification: 'required',
        residentKey: 'required',
        requireResidentKey: true,
      },
    ],
  )
  assert.equal(stored()?.rp_id, 'bank.example')
})

test('gives each key a user handle of its own, so that no key replaces another', async () => {
  const { signer, created } = scene()
  const requirement = { rp_id: 'bank.example', attestation: 'none' } as const
  await signer.register(new Uint8Array(32), requirement)
  await signer.register(new Uint8Array(32), requirement)
  const [first, second] = created.map(({ user }) => Buffer.from(user.id).toString('hex'))
  assert.notEqual(first, second)
})

test('asks for the attestation in the first prompt where the workflow needs one', async () => {
  const registration = { rp_id: 'bank.example', attestation: 'required' } as const
  const { phone, created } = scene({ registration, attestation: PACKED })
  await phone.register(await phone.readInvitation(LINK))
  assert.equal(created.length, 1)
  assert.equal(created[0]?.attestation, 'direct')
  assert.equal(created[0]?.authenticatorSelection.residentKey, 'discouraged')
})

test('an authenticator without an attestation costs one prompt and leaves no key', async () => {
  const registration = { rp_id: 'bank.example', attestation: 'required' } as const
  const { phone, created, discarded, sent, stored } = scene({ registration })
  const invitation = await phone.readInvitation(LINK)
  await assert.rejects(phone.register(invitation), (failure) =>
    isRejection(failure, 'key_not_attested'),
  )
  assert.equal(created.length, 1)
  assert.deepEqual(discarded, [{ rpId: 'bank.example', credentialId: KEY_ID }])
  assert.ok(!sent.some(({ path }) => path.endsWith('/devices')), 'the service got no key')
  assert.equal(stored(), undefined)
})

test('an attestation that the service rejects costs one prompt and leaves no key', async () => {
  const registration = { rp_id: 'bank.example', attestation: 'required' } as const
  const { phone, created, discarded, stored } = scene({
    registration,
    attestation: PACKED,
    responses: { '/devices': [400, 'attestation_invalid'] },
  })
  const invitation = await phone.readInvitation(LINK)
  await assert.rejects(phone.register(invitation), (failure) =>
    isRejection(failure, 'attestation_invalid'),
  )
  assert.equal(created.length, 1)
  assert.deepEqual(discarded, [{ rpId: 'bank.example', credentialId: KEY_ID }])
  assert.equal(stored(), undefined)
})

test('a service that turns a registration away gets the same one again, without another prompt', async () => {
  const { phone, created, sent } = scene({ responses: { '/devices': [503, 'overloaded'] } })
  await assert.rejects(phone.register(), (failure) => isRejection(failure, 'overloaded'))
  const bodies = sent.filter(({ path }) => path.endsWith('/devices')).map(({ body }) => body)
  assert.equal(bodies.length, 4)
  assert.equal(new Set(bodies).size, 1)
  assert.equal(created.length, 1)
})

test('a claim reads the invitation before it prompts, and prompts for no unknown session', async () => {
  const { phone, created, sent } = scene({
    responses: { '/invitation': [404, 'session_not_found'] },
  })
  await assert.rejects(phone.claim(LINK), (failure) => isRejection(failure, 'session_not_found'))
  assert.equal(created.length, 0)
  assert.deepEqual(
    sent.map(({ path, nonce }) => [path, nonce]),
    [[`/api/v1/sessions/${SESSION_ID}/invitation`, NONCE]],
  )
})

test('signs with the relying party id that the key was created with', async () => {
  const { signer, signed } = scene()
  await signer.assert(new Uint8Array(32), { key_id: KEY_ID, rp_id: 'bank.example' })
  // A key from before phones stored it was created with the page's host.
  await signer.assert(new Uint8Array(32), { key_id: KEY_ID })
  assert.deepEqual(
    signed.map(({ rpId }) => rpId),
    ['bank.example', 'bond.bank.example'],
  )
})

test('recovers its device by a key that the authenticator finds, with one prompt', async () => {
  const { phone, created, signed, sent, stored } = scene()
  const device = await phone.recover(await phone.readInvitation(LINK))
  assert.equal(created.length, 0)
  assert.equal(signed.length, 1)
  const [asked] = signed
  const payload = deviceRecoveryPayload({ challenge: 'A'.repeat(43), origin: ORIGIN })
  const challenge = await sha256(new TextEncoder().encode(payload))
  assert.deepEqual(
    [asked?.rpId, asked?.allowCredentials, asked?.userVerification, [...(asked?.challenge ?? [])]],
    ['bank.example', undefined, 'required', [...challenge]],
  )
  const { body = '' } = sent.at(-1) ?? {}
  assert.deepEqual(
    [JSON.parse(body).challenge, JSON.parse(body).app_attest.key_id],
    ['A'.repeat(43), KEY_ID],
  )
  assert.deepEqual(stored(), device)
  assert.deepEqual(
    [device.device_id, device.subject_id, device.key_id, device.rp_id, device.format],
    [REGISTERED.device_id, REGISTERED.subject_id, KEY_ID, 'bank.example', 'webauthn'],
  )
  assert.equal(device.device_token.reveal(), REGISTERED.device_token)
  // The phone is set up.
  await phone.register()
  assert.equal(created.length, 0)
})

test('sends a recovery once: another attempt needs another prompt', async () => {
  for (const [status, reason] of [
    [400, 'assertion_invalid'],
    [503, 'overloaded'],
  ] as const) {
    const { phone, signed, sent, stored } = scene({ responses: { '/recovery': [status, reason] } })
    await assert.rejects(phone.recover(), (failure) => isRejection(failure, reason))
    const requests = sent.filter(({ path }) => path.endsWith('/recovery'))
    assert.deepEqual([signed.length, requests.length, stored()], [1, 1, undefined])
    assert.equal(signed[0]?.rpId, 'bond.bank.example', 'without an invitation, the signer’s own')
  }
})

test('recovers no device of a key that an app holds', async () => {
  const { phone } = scene({ software: true })
  await assert.rejects(
    phone.recover(),
    (failure) => failure instanceof PhoneError && failure.code === 'authenticator_unusable',
  )
})

test('a failure to discard a key is not reported', async () => {
  const { credentials, ...options } = {
    credentials: { create: async () => null, get: async () => null },
    rpId: 'bond.bank.example',
    rpName: 'Bank',
    keyName: 'Approvals',
    random: (length: number) => new Uint8Array(length),
  }
  const rejecting = createWebAuthnSigner({
    ...options,
    credentials,
    signalUnknownCredential: () => Promise.reject(new Error('not allowed')),
  })
  await rejecting.discard({ key_id: KEY_ID })
  // A browser without the method.
  await createWebAuthnSigner({ ...options, credentials }).discard({ key_id: KEY_ID })
})
