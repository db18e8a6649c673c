import { createPublicKey, generateKeyPairSync, hash, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  attestKey,
  createAndroidAuthority,
  createAppAssertion,
  createAppAttestAuthority,
  createAuthenticator,
  createAuthenticatorAuthority,
  createMasterList,
  createPassport,
  createPassportAuthority,
  createPassportChip,
  honestDescription,
  pemOf,
  SIMULATED_APP,
} from '@bonded/simulator'
import { contentOf, FACTS, keyCertificate, NOW, receiptOf, ROOT } from '../apple/receipts.ts'
import { blobOf, createBlobSigner, entryOf } from '../fido-metadata/blob.ts'

/**
 * Writes the samples of the package. Run it only when a format changes, because every run makes new
 * keys:
 *
 *   node scripts/run.js --conditions=@bonded/source \
 *     packages/attestation/tests/samples/write-samples.ts
 */
const FOLDER = join(import.meta.dirname, '../../src/samples')
const ORIGIN = 'https://bank.example'
const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' })
const decode = (text: string) => Buffer.from(text, 'base64url')

type Sample = Readonly<Record<string, Uint8Array | string | number | readonly Uint8Array[]>>

write('app-attest', appAttest(), 'A key of App Attest, its first assertion, and a receipt')
write('android-key', androidKey(), 'A key of the Android keystore')
write('web-authn', webAuthn(), 'A registration and an assertion in a browser, and FIDO metadata')
write('passport', passport(), 'A passport of Utopia, and a master list with its certificate')

function appAttest(): Sample {
  const authority = createAppAttestAuthority(NOW)
  const { privateKey, publicKey } = newKey()
  const { appId, clientDataHash } = FACTS
  const of = { authority, privateKey, clientDataHash, now: NOW }
  const extensions = { category: 4, bundleVersion: '7.1' }
  const attested = attestKey({ appId, environment: 'production', extensions }, of)
  const assertionHash = hash('sha256', 'payload', 'buffer')
  const assertion = createAppAssertion(
    { appId, extensions },
    { privateKey, counter: 1, clientDataHash: assertionHash },
  )
  return {
    now: NOW,
    appId,
    testRoot: authority.root,
    attestationObject: attested.attestationObject,
    keyId: Buffer.from(attested.keyId, 'base64'),
    challenge: Buffer.from('challenge'),
    publicKey: publicKey.export({ format: 'der', type: 'spki' }),
    payload: Buffer.from('payload'),
    ...assertion,
    receipt: receiptOf({ content: contentOf({ 3: keyCertificate(publicKey) }) }),
    receiptTestRoot: pemOf(ROOT),
  }
}

function androidKey(): Sample {
  const authority = createAndroidAuthority()
  const challenge = randomBytes(32)
  return {
    now: NOW,
    challenge,
    chain: authority.attest(newKey().publicKey, honestDescription(challenge)),
    testRoot: authority.rootKeyDigest,
    package: SIMULATED_APP.package,
    certificateDigest: Buffer.from(SIMULATED_APP.certificateDigest).toString('hex'),
  }
}

function webAuthn(): Sample {
  const aaguid = randomBytes(16)
  const vendor = createAuthenticatorAuthority(aaguid)
  const authenticator = createAuthenticator({
    origin: ORIGIN,
    attestation: vendor.attestation,
    aaguid,
  })
  const challenge = randomBytes(32)
  const { id, response } = authenticator.register(challenge.toString('base64url'))
  const assertion = authenticator.assert('payload')
  const signer = createBlobSigner()
  const list = {
    no: 1,
    nextUpdate: '2026-12-01',
    entries: [entryOf(aaguid.toString('hex'), { roots: [vendor.root] })],
  }
  return {
    now: NOW,
    origin: ORIGIN,
    rpId: 'bank.example',
    testRoot: pemOf(vendor.root),
    credentialId: decode(id),
    challenge,
    registrationClientDataJson: decode(response.clientDataJSON),
    attestationObject: decode(response.attestationObject),
    publicKey: createPublicKey(
      authenticator.privateKey.export({ format: 'pem', type: 'pkcs8' }),
    ).export({
      format: 'der',
      type: 'spki',
    }),
    assertionChallenge: hash('sha256', 'payload', 'buffer'),
    assertionClientDataJson: decode(assertion.client_data_json),
    authenticatorData: decode(assertion.authenticator_data),
    signature: decode(assertion.signature),
    fidoMetadata: blobOf(list, signer),
    fidoMetadataTestRoot: pemOf(signer.root),
  }
}

function passport(): Sample {
  // On P-256, which every runtime verifies.
  const scheme = { scheme: 'ecdsa', digest: 'sha256', curve: 'prime256v1' } as const
  const state = createPassportAuthority(NOW, {
    countrySignature: scheme,
    documentSignature: scheme,
  })
  const chip = createPassportChip({ kind: 'ecdsa', curve: 'prime256v1' })
  const challenge = randomBytes(8)
  const { sod, dg1, dg14, dg15 } = createPassport(state, { chip })
  if (dg14 === undefined || dg15 === undefined) throw new Error('a chip has DG14 and DG15')
  return {
    now: NOW,
    sod,
    dg1,
    dg14,
    dg15,
    challenge,
    signature: chip.response(challenge),
    countryCertificate: state.countryCertificate,
    masterList: createMasterList(state, {
      certificates: [state.countryCertificate],
      now: NOW,
      signature: scheme,
    }),
  }
}

function write(name: string, sample: Sample, what: string): void {
  const lines = Object.entries(sample).map(([key, value]) => `  ${key}: ${literal(value)},`)
  const constant = `${name.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase())}Sample`
  const uses = lines.some((line) => line.includes('base64('))
  writeFileSync(
    join(FOLDER, `${name}.ts`),
    [
      '// Generated by tests/samples/write-samples.ts. Change that script, not this file.',
      '',
      ...(uses ? ["import { base64 } from './base64.ts'", ''] : []),
      '/**',
      ` * ${what}.`,
      ' * Made by the simulator of this project, under test roots.',
      ' */',
      `export const ${constant} = {`,
      ...lines,
      '} as const',
      '',
    ].join('\n'),
  )
}

function literal(value: Sample[string]): string {
  if (typeof value === 'number') return `Date.parse('${new Date(value).toISOString()}')`
  if (typeof value === 'string') return text(value)
  if (value instanceof Uint8Array) return `base64(${text(Buffer.from(value).toString('base64'))})`
  return `[${value.map((one) => literal(one)).join(', ')}]`
}

/** A text in lines of 88 characters. */
function text(value: string): string {
  if (value.includes('\n')) return `\`${value}\``
  return (value.match(/.{1,88}/g) ?? ['']).map((line) => `'${line}'`).join(' +\n    ')
}
