import { createPublicKey, generateKeyPairSync, hash, sign, verify } from 'node:crypto'
import { makeId } from '@bonded/contract'
import { assertWith, attestKey, keyIdOf, makeAppAttestAuthority } from '@bonded/phone/simulator'
import { appleTrust } from '../packages/service/src/adapters/proofs/apple/registrar.ts'
import { appleVerifier } from '../packages/service/src/adapters/proofs/apple/verifier.ts'
import type { AppleApp } from '../packages/service/src/adapters/proofs/apple/app.ts'
import { verifyAttestation } from '../packages/service/src/adapters/proofs/apple/verify-attestation.ts'
import { appAssertionVerifier } from '../packages/service/src/adapters/proofs/app-assertion.ts'
import type { Device } from '../packages/service/src/domain/session.ts'
import { median } from './process.ts'

/**
 * CPU microseconds an assertion, for each format, beside a bare `crypto.verify` of as many bytes with a key object
 * that is kept. Rounds of the two alternate, and the ratio is the median of the rounds'. `--json` prints one document.
 */
const CALLS = Number(process.env.BENCH_CALLS ?? 1_000)
const ROUNDS = 15
const TARGET_RATIO = 1.35

interface Row {
  readonly name: string
  readonly judge: () => boolean
  /** The bytes that the format's signature is over. */
  readonly signed: Buffer
  readonly limit: number | undefined
}

const PAYLOAD = JSON.stringify({ typ: 'bonded-assertion/v1', filled: 'x'.repeat(600) })
const APP: AppleApp = {
  appId: 'TEAM123456.example.bank',
  environments: ['production'],
  categories: [4],
  missing: 'allow',
  bundleVersions: { minimum: '7' },
}
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const clientDataHash = hash('sha256', PAYLOAD, 'buffer')

const rows: readonly Row[] = [
  appleRow('apple-app-attest, before iOS 27', undefined),
  appleRow('apple-app-attest, iOS 27', { category: 4, bundleVersion: '7.1' }),
  softwareRow(),
]

const figures = rows.map(measure)
const attestation = await measureAttestation()
if (process.argv.includes('--json'))
  console.log(JSON.stringify({ calls: CALLS, rounds: ROUNDS, target_ratio: TARGET_RATIO, assertions: figures, attestation }))
else {
  console.log(`CPU µs an assertion, median of ${ROUNDS} rounds of ${CALLS}; target ${TARGET_RATIO} × bare crypto.verify`)
  for (const { name, us, bare_us, ratio, within } of figures) {
    console.log(
      `  ${name.padEnd(34)} ${us.toFixed(1).padStart(7)}   bare ${bare_us.toFixed(1).padStart(6)}   ratio ${ratio.toFixed(2)}${within ? '' : '   OVER'}`,
    )
  }
  console.log(
    `  apple-app-attest registration      ${attestation.us.toFixed(0).padStart(7)}   of which on the event loop ${attestation.loop_us.toFixed(0)}`,
  )
}

function measure({ name, judge, signed, limit }: Row) {
  const key = createPublicKey(publicKey.export({ format: 'pem', type: 'spki' }))
  const signature = sign('sha256', signed, privateKey)
  const bare = () => verify('sha256', signed, key, signature)
  if (!judge() || !bare()) throw new Error(`${name} does not verify`)
  timed(judge)
  timed(bare)
  const rounds = Array.from({ length: ROUNDS }, () => ({ us: timed(judge), bare_us: timed(bare) }))
  const ratio = median(rounds.map((round) => round.us / round.bare_us))
  return {
    name,
    us: median(rounds.map((round) => round.us)),
    bare_us: median(rounds.map((round) => round.bare_us)),
    ratio,
    within: limit === undefined || ratio <= limit,
  }
}

function timed(judge: () => boolean): number {
  const before = process.threadCpuUsage()
  for (let call = 0; call < CALLS; call++) judge()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / CALLS
}

function appleRow(name: string, extensions: { category: number; bundleVersion: string } | undefined): Row {
  const { authenticatorData, signature } = assertWith({ appId: APP.appId, extensions }, { privateKey, counter: 1, clientDataHash })
  const device = deviceOf('apple-app-attest', APP.appId, keyIdOf(publicKey).toString('base64url'))
  const verifier = appleVerifier([APP])
  const appAttest = {
    key_id: device.keyId,
    client_data_hash: clientDataHash.toString('base64url'),
    authenticator_data: authenticatorData.toString('base64url'),
    signature: signature.toString('base64url'),
  }
  const signed = hash('sha256', Buffer.concat([authenticatorData, clientDataHash]), 'buffer')
  return { name, judge: () => verifier.verify({ device, payload: PAYLOAD, appAttest }).ok, signed, limit: TARGET_RATIO }
}

/** A key without hardware: it shows what the form costs. */
function softwareRow(): Row {
  const device = deviceOf('software', 'software', hash('sha256', publicKey.export({ format: 'der', type: 'spki' }), 'base64url'))
  const authenticatorData = Buffer.concat([hash('sha256', device.appId, 'buffer'), Buffer.of(0, 0, 0, 0, 1)])
  const signed = Buffer.concat([authenticatorData, clientDataHash])
  const appAttest = {
    key_id: device.keyId,
    client_data_hash: clientDataHash.toString('base64url'),
    authenticator_data: authenticatorData.toString('base64url'),
    signature: sign('sha256', signed, privateKey).toString('base64url'),
  }
  return { name: 'software', judge: () => appAssertionVerifier.verify({ device, payload: PAYLOAD, appAttest }).ok, signed, limit: undefined }
}

/** A registration: its time, and how much of it other requests have to wait for. */
async function measureAttestation() {
  const now = Date.now()
  const authority = makeAppAttestAuthority(now)
  const trust = appleTrust([APP], [authority.root])
  const app = { appId: APP.appId, environment: 'production', extensions: { category: 4, bundleVersion: '7.1' } } as const
  const { keyId, attestationObject } = attestKey(app, { authority, privateKey, clientDataHash, now })
  const facts = { attestationObject, keyId: Buffer.from(keyId, 'base64'), clientDataHash, now }
  const loop: number[] = []
  const whole: number[] = []
  for (let call = 0; call < 300; call++) {
    const from = performance.now()
    const busy = process.threadCpuUsage()
    const result = await verifyAttestation(facts, trust)
    const { user, system } = process.threadCpuUsage(busy)
    loop.push(user + system)
    whole.push((performance.now() - from) * 1_000)
    if (!result.ok) throw new Error(`the registration does not verify: ${result.refusal.step}`)
  }
  return { us: median(whole), loop_us: median(loop) }
}

function deviceOf(format: Device['format'], appId: string, keyId: string): Device {
  return {
    id: makeId('dev', Buffer.alloc(16)),
    subjectId: makeId('sub', Buffer.alloc(16)),
    format,
    keyId,
    publicKey: publicKey.export({ format: 'der', type: 'spki' }),
    environment: 'production',
    status: 'active',
    appId,
    counter: 0,
    lastIssuedAt: null,
    createdAt: 0,
  }
}
