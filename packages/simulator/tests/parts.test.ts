import assert from 'node:assert/strict'
import { createPublicKey, X509Certificate } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  androidAppId,
  authority,
  createAuthenticator,
  createAuthenticatorAuthority,
  createAndroidAuthority,
  createAppAttestAuthority,
  certifyKey,
  createMrz,
  createPassport,
  createPassportAuthority,
  createPassportChip,
  der,
  encodeCbor,
  EVIDENCE_PROFILES,
  findTestRoots,
  honestDescription,
  inboxLink,
  loadTestAuthority,
  notAuthority,
  OUTCOMES,
  pemOf,
  PHONE_FORMATS,
  SIMULATED_APP,
  simulateCarriedPhone,
  WEBAUTHN_FLAGS,
} from '../src/index.ts'
import { simulateEvidence } from '../src/evidence.ts'
import { passportReader } from '../src/passport/reader.ts'
import { rememberAssertion } from '../src/remember-assertion.ts'
import { simulateRestingPhone } from '../src/sensors.ts'
import { fileStateStore } from '../src/state-file.ts'
import { keyUsage, SIGNS_CERTIFICATES } from '../src/test-pki/certificate.ts'
import { newKey } from '../src/test-pki/key.ts'

const DAY = 86_400_000
const NOW = Date.UTC(2026, 10, 21, 9, 30)
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** The fields of a certificate in one line, with its dates in days from now. */
function shown(certificate: Uint8Array | string) {
  const { subject, issuer, validFromDate, validToDate, ca } = new X509Certificate(certificate)
  const days = (date: Date) => (date.getTime() - NOW) / DAY
  const line = (name: string) => name.replaceAll('\n', ', ')
  return [line(subject), line(issuer), days(validFromDate), days(validToDate), ca] as const
}

test('DER is encoded as X.690 has it, at the bounds of its lengths and tags', () => {
  for (const [bytes, expected] of [
    [der.integer(0), '020100'],
    [der.integer(127), '02017f'],
    [der.integer(128), '02020080'],
    [der.integer(256), '02020100'],
    [der.integer(2n ** 64n), '0209010000000000000000'],
    [der.enumerated(2), '0a0102'],
    [der.boolean(true), '0101ff'],
    [der.boolean(false), '010100'],
    [der.nothing(), '0500'],
    [der.octets('ab'), '04026162'],
    [der.bits(Buffer.of(6), 1), '03020106'],
    [der.bits(Buffer.of(6)), '03020006'],
    [der.utf8('é'), '0c02c3a9'],
    [der.printable('UT'), '13025554'],
    [der.sequence(der.nothing(), der.integer(1)), '30050500020101'],
    [der.setOf(der.nothing()), '31020500'],
    [der.explicit(3, der.nothing()), 'a3020500'],
    [der.explicit(30, der.nothing()), 'be020500'],
    [der.explicit(31, der.nothing()), 'bf1f020500'],
    [der.explicit(503, der.nothing()), 'bf8377020500'],
    [der.oid('1.2.840.113549.1.9.3'), '06092a864886f70d010903'],
    [der.oid('2.5.29.19'), '0603551d13'],
    [der.time(Date.UTC(2049, 11, 31, 23, 59, 59)), `170d${hex(Buffer.from('491231235959Z'))}`],
    [der.time(Date.UTC(2050, 0, 1)), `180f${hex(Buffer.from('20500101000000Z'))}`],
    [authority().value, '30030101ff'],
    [authority(0).value, '30060101ff020100'],
    [notAuthority.value, '3000'],
    [SIGNS_CERTIFICATES.value, '03020106'],
    [keyUsage(0x80, 7).value, '03020780'],
  ] as const)
    assert.equal(hex(bytes), expected)
  assert.equal(hex(der.octets(Buffer.alloc(127))).slice(0, 4), '047f')
  assert.equal(hex(der.octets(Buffer.alloc(128))).slice(0, 6), '048180')
  assert.equal(hex(der.octets(Buffer.alloc(256))).slice(0, 8), '04820100')
  for (const extension of [authority(), notAuthority, SIGNS_CERTIFICATES])
    assert.equal(extension.critical, true)
  assert.equal(
    pemOf(Buffer.alloc(49)),
    `-----BEGIN CERTIFICATE-----\n${'A'.repeat(64)}\nAA==\n-----END CERTIFICATE-----\n`,
  )
})

test('CBOR is encoded as RFC 8949 has it, in its shortest form', () => {
  for (const [value, expected] of [
    [0, '00'],
    [23, '17'],
    [24, '1818'],
    [255, '18ff'],
    [256, '190100'],
    [65_535, '19ffff'],
    [65_536, '1a00010000'],
    [-1, '20'],
    [-7, '26'],
    [-24, '37'],
    [-25, '3818'],
    ['é', '62c3a9'],
    [Buffer.of(1, 2), '420102'],
    [[1, 'a'], '82016161'],
    [
      new Map<string | number, number>([
        ['b', 1],
        [1, 2],
      ]),
      'a26162010102',
    ],
  ] as const)
    assert.equal(hex(encodeCbor(value)), expected)
})

test('zones are those of Doc 9303, in each format', () => {
  // The specimens of Doc 9303-4, -5 and -6, with the names and dates of this simulator.
  assert.equal(
    createMrz({ documentNumber: 'L898902C3', expiry: '120415', personalNumber: 'ZE184226B' }),
    'P<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<<<<<<<<<L898902C36UTO7408122F1204159ZE184226B<<<<<10',
  )
  assert.equal(
    createMrz({ format: 'TD2', documentNumber: 'D23145890', expiry: '120415' }),
    'I<UTOERIKSSON<<ANNA<MARIA<<<<<<<<<<<D231458907UTO7408122F1204159<<<<<<<6',
  )
  assert.equal(
    createMrz({ format: 'TD1', documentNumber: 'D23145890', expiry: '120415' }),
    'I<UTOD231458907<<<<<<<<<<<<<<<7408122F1204159UTO<<<<<<<<<<<6ERIKSSON<<ANNA<MARIA<<<<<<<<<<',
  )
  assert.ok(
    createMrz({ format: 'TD1', documentNumber: 'D23145890734' }).startsWith(
      'I<UTOD23145890<7349<<<',
    ),
  )
  assert.match(createMrz({ issuingState: 'D' }), /^P<D<<ERIKSSON.*\dD<<7408122F3404159/)
})

test('a carried phone walks, is taken out and held, and a resting one has noise only', () => {
  const low = simulateCarriedPhone(() => 0)
  const high = simulateCarriedPhone(() => 1 - 2 ** -30)
  assert.deepEqual([low.window_ms, low.features.length], [60_000, 60])
  assert.deepEqual(
    low.features.map(({ t_ms }) => t_ms),
    Array.from({ length: 60 }, (_, second) => second * 1_000),
  )
  const at = (second: number) =>
    [low, high].flatMap(({ features }) => {
      const { acc_var = 0, gyro_var = 0, handling = 0 } = features[second] ?? {}
      return [acc_var, gyro_var, handling]
    })
  for (const second of [0, 37]) assert.deepEqual(at(second), [2, 0.3, 0, 9, 1.8, 0])
  for (const second of [38, 42]) assert.deepEqual(at(second), [4, 1.5, 0, 20, 8, 3])
  for (const second of [43, 58]) assert.deepEqual(at(second), [0.02, 0.004, 0, 0.25, 0.06, 5])
  assert.deepEqual(at(59), [0.02, 0.004, 1, 0.25, 0.06, 6])
  const resting = simulateRestingPhone(() => 0.5)
  assert.deepEqual([resting.window_ms, resting.features.length], [60_000, 60])
  assert.deepEqual(resting.features[59], {
    t_ms: 59_000,
    acc_var: 0.000_3,
    gyro_var: 0.000_03,
    handling: 0,
  })
})

test('a phone reports the evidence of its profile, and reads a passport only if it must', () => {
  const chip = createPassportChip({ kind: 'ecdsa' })
  const passport = createPassport(createPassportAuthority(NOW), { chip })
  const sources = { clock: { now: () => 7, schedule: () => () => {} }, random: () => 0, passport }
  const of = (profile: (typeof EVIDENCE_PROFILES)[number], required: readonly string[] = []) =>
    simulateEvidence(profile, sources, required)
  const unlocked = { result: 'verified', method: 'biometric', at_ms: 7 }
  assert.deepEqual(of('locked', ['passport_chip']), {
    local_auth: { result: 'failed', method: 'none', at_ms: 7 },
  })
  assert.deepEqual(of('carried'), {
    local_auth: unlocked,
    sensor_continuity: simulateCarriedPhone(() => 0),
  })
  assert.deepEqual(
    of('resting').sensor_continuity,
    simulateRestingPhone(() => 0),
  )
  assert.ok('passport' in of('carried', ['passport_chip']))
  const read = passportReader(passport)(Buffer.alloc(8))
  const bytes = (text: string | undefined) => hex(Buffer.from(text ?? '', 'base64url'))
  const { sod, dg1, dg14, dg15, active_authentication } = read as Record<string, string>
  assert.deepEqual(
    [sod, dg1, dg14, dg15].map(bytes),
    [passport.sod, passport.dg1, chip.dg14 ?? Buffer.alloc(0), chip.dg15].map(hex),
  )
  assert.equal(Buffer.from(active_authentication ?? '', 'base64url').length, 64)
  const bare = passportReader(createPassport(createPassportAuthority(NOW)))(Buffer.alloc(8))
  assert.deepEqual(Object.keys(bare), ['sod', 'dg1'])
  assert.deepEqual(EVIDENCE_PROFILES, ['carried', 'resting', 'locked'])
  assert.deepEqual(PHONE_FORMATS, ['apple-app-attest', 'android-key', 'software'])
  assert.deepEqual(OUTCOMES, [
    'approve',
    'decline',
    'not-me',
    'step-up',
    'replay',
    'stale-counter',
    'other-device',
  ])
})

test('the authorities of the test have their names and dates', () => {
  const apple = createAppAttestAuthority(NOW)
  const root = 'CN=Simulated App Attestation Root CA'
  const issuer = 'CN=Simulated App Attestation CA 1'
  assert.deepEqual(shown(apple.root), [root, root, -1, 3_650, true])
  assert.deepEqual(shown(apple.issuer), [issuer, root, -1, 3_650, true])
  const publicKey = createPublicKey(newKey().export({ format: 'pem', type: 'pkcs8' }))
  const key = { publicKey, keyId: Buffer.of(0xab, 1), nonce: Buffer.alloc(32, 9), now: NOW }
  const [leaf = Buffer.alloc(0), by] = certifyKey(apple, key)
  assert.deepEqual(shown(leaf), ['CN=ab01', issuer, -1, 3, false])
  assert.equal(hex(by ?? leaf), hex(new X509Certificate(apple.issuer).raw))
  // The nonce is below 1.2.840.113635.100.8.2, as Apple has it.
  assert.ok(hex(leaf).includes(`06092a864886f76364080204263024a1220420${'09'.repeat(32)}`))

  const android = createAndroidAuthority()
  const chain = android.attest(publicKey, honestDescription(Buffer.from('challenge')))
  const years = (subject: string, by_: string, ca: boolean) => [subject, by_, ca]
  const first = 'CN=Bonded Sessions test root for Android keys'
  const tee = (serial: string) => `serialNumber=${serial}, title=TEE`
  assert.deepEqual(
    chain.map((each) => {
      const [subject, issuedBy, , , ca] = shown(each)
      return years(subject, issuedBy, ca)
    }),
    [
      years('CN=Android Keystore Key', tee('fedcba9876543210'), false),
      years(tee('fedcba9876543210'), tee('0123456789abcdef'), true),
      years(tee('0123456789abcdef'), first, true),
      years(first, first, true),
    ],
  )
  const { validFrom, validTo, serialNumber } = new X509Certificate(chain[2] ?? leaf)
  assert.deepEqual(
    [validFrom, validTo, serialNumber],
    ['Jan  1 00:00:00 2020 GMT', 'Dec 31 23:59:59 2049 GMT', '02'],
  )
  assert.match(androidAppId(SIMULATED_APP), /^org\.bonded\.simulated:[0-9a-f]{64}$/)

  const { attestation, root: ofModel } = createAuthenticatorAuthority(Buffer.alloc(16, 5))
  const authenticators = 'CN=Bonded Sessions test root for authenticators'
  assert.deepEqual(shown(ofModel).slice(0, 2), [authenticators, authenticators])
  const parts = {
    privateKey: newKey(),
    authenticatorData: Buffer.of(1),
    clientDataHash: Buffer.of(2),
  }
  const [format, members] = attestation(parts)
  const [model] = members.get('x5c') as Buffer[]
  assert.deepEqual([format, members.get('alg')], ['packed', -7])
  assert.deepEqual(shown(model ?? leaf).slice(0, 2), [
    'C=AA, O=Bonded Sessions, OU=Authenticator Attestation, CN=Simulated authenticator',
    authenticators,
  ])
  assert.ok(hex(model ?? leaf).includes(`060b2b0601040182e51c01010404120410${'05'.repeat(16)}`))

  const state = createPassportAuthority(NOW)
  const country = 'C=UT, O=Simulated, CN=Simulated Country Signing CA'
  assert.deepEqual(shown(state.countryCertificate), [country, country, -365, 15 * 365, true])
  const signer = 'C=UT, O=Simulated, CN=Simulated Document Signer'
  assert.deepEqual(shown(state.signerCertificate), [signer, country, -1, 11 * 365, false])
})

test('an authenticator writes what a browser would, and counts unless it is a passkey', () => {
  assert.deepEqual(WEBAUTHN_FLAGS, {
    userPresent: 1,
    userVerified: 4,
    backupEligible: 8,
    backedUp: 16,
  })
  const origin = 'https://bond.example:8443'
  const made = createAuthenticator({ origin })
  const json = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown
  const registered = made.register('Y2hhbGxlbmdl')
  assert.deepEqual(json(registered.response.clientDataJSON), {
    type: 'webauthn.create',
    challenge: 'Y2hhbGxlbmdl',
    origin,
    crossOrigin: false,
  })
  const dataOf = (text: string) => Buffer.from(text, 'base64url')
  for (const counter of [1, 2]) {
    const { response, rawId, id } = made.answer('YQ', 'https://page.example')
    assert.deepEqual([id, rawId], [made.credentialId, made.credentialId])
    assert.deepEqual(json(response.clientDataJSON), {
      type: 'webauthn.get',
      challenge: 'YQ',
      origin: 'https://page.example',
      crossOrigin: false,
    })
    const data = dataOf(response.authenticatorData)
    assert.deepEqual([data.length, data[32], data.readUInt32BE(33)], [37, 5, counter])
  }
  const passkey = createAuthenticator({ origin, counts: false, flags: 0x1d })
  const data = dataOf(passkey.assert('payload').authenticator_data)
  assert.deepEqual([data[32], data.readUInt32BE(33)], [0x1d, 0])
  // SHA-256 of "bond.example", without the port.
  const other = createAuthenticator({ origin: 'https://else.example', rpId: 'bond.example' })
  const host = dataOf(other.assert('payload').authenticator_data).subarray(0, 32)
  assert.equal(hex(host), hex(data.subarray(0, 32)))
})

test('a remembered assertion is that of its session, of the last 64', async () => {
  const sent: string[] = []
  const memory = rememberAssertion((url, { body }) => {
    sent.push(`${url} ${body}`)
    const answer = body?.includes('"s0"') ? { error: { code: 'c' } } : { state: 'bonded' }
    return Promise.resolve({ status: 202, text: async () => JSON.stringify(answer) } as never)
  })
  const send = (path: string, session_id: string) =>
    memory.fetch(`https://s.example${path}`, {
      method: 'POST',
      headers: {},
      redirect: 'error',
      body: JSON.stringify({ session_id }),
    })
  await send('/api/v1/evidence', 'e')
  for (let count = 0; count < 64; count++) await send('/api/v1/attestations', `s${count}`)
  assert.deepEqual(await memory.repeat('s0'), { status: 202, reason: 'c' })
  assert.deepEqual(await memory.repeat('s1'), { status: 202, state: 'bonded' })
  assert.equal(sent.at(-1), sent[2])
  await assert.rejects(memory.repeat('e'), /no assertion of this session/)
  await send('/api/v1/attestations', 's64')
  await assert.rejects(memory.repeat('s0'), /no assertion of this session/)
  assert.equal((await memory.repeat('s1')).status, 202)
})

test('the files of a phone are of one account, and its roots contain no secret', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-simulator-'))
  try {
    assert.equal(findTestRoots(folder), undefined)
    const made = loadTestAuthority(folder)
    const file = join(folder, 'phone-authority.json')
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.equal(findTestRoots(folder), join(folder, 'test-roots.json'))
    const roots = JSON.parse(readFileSync(join(folder, 'test-roots.json'), 'utf8')) as object
    assert.deepEqual(roots, {
      apple_apps: [
        {
          team_id: 'SIMULATED0',
          bundle_id: 'org.bonded.simulated',
          categories: [4],
          missing: 'refuse',
        },
      ],
      android_apps: [
        {
          package: 'org.bonded.simulated',
          certificate_digests: [hex(SIMULATED_APP.certificateDigest)],
        },
      ],
      roots: { apple: [made.apple.root], android: [pemOf(made.android.root)] },
    })
    const again = loadTestAuthority(folder)
    assert.equal(again.apple.root, made.apple.root)
    assert.equal(again.android.rootKeyDigest, made.android.rootKeyDigest)
    const store = fileStateStore(join(folder, 'below', 'phone.json'))
    assert.deepEqual(await store.read(), {})
    const entry = { private_key: 'k', counter: 3 }
    await store.change(() => ({ 'https://a.example': entry }))
    await store.change((all) => ({ ...all, 'https://b.example': { ...entry, counter: 4 } }))
    assert.deepEqual(await store.read(), {
      'https://a.example': entry,
      'https://b.example': { ...entry, counter: 4 },
    })
    assert.equal(statSync(join(folder, 'below', 'phone.json')).mode & 0o777, 0o600)
    assert.ok(!existsSync(join(folder, 'below', 'phone.json.lock')))
  } finally {
    rmSync(folder, { recursive: true })
  }
  assert.equal(
    inboxLink({ origin: 'https://b.example', session_id: 's', nonce: 'n&' } as never),
    'https://b.example/bond?session_id=s&nonce=n%26',
  )
})
