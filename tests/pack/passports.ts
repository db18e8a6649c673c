import {
  createPassport,
  createPassportAuthority,
  type PassportSignatureOptions,
} from '@bonded/simulator'
import { readVector } from '../../packages/contract/tests/vectors.ts'

/** A passport for `consumer/passports.mjs`. Bytes are base64. */
export interface PackedPassport {
  readonly name: string
  readonly sod: string
  readonly dg1: string
  readonly root: string
  readonly now: number
}

const DIGESTS = ['sha1', 'sha224', 'sha256', 'sha384', 'sha512'] as const
const NIST = ['prime192v1', 'secp224r1', 'prime256v1', 'secp384r1', 'secp521r1']
const BRAINPOOL = [160, 192, 224, 256, 320, 384, 512].map((bits) => `brainpoolP${bits}r1`)

const SIGNATURES: readonly PassportSignatureOptions[] = [
  ...(['pkcs1', 'pss'] as const).flatMap((scheme) => DIGESTS.map((digest) => ({ scheme, digest }))),
  ...DIGESTS.map((digest) => ({ scheme: 'ecdsa-plain', digest, curve: 'prime256v1' }) as const),
  ...[...NIST, ...BRAINPOOL].flatMap((curve) =>
    (['sha1', 'sha256', 'sha512'] as const).map(
      (digest) => ({ scheme: 'ecdsa', digest, curve }) as const,
    ),
  ),
  { scheme: 'pss', digest: 'sha256', maskDigest: 'sha1' },
  { scheme: 'pkcs1', digest: 'sha256', rsaBits: 4608 },
]

const countrySignature = { scheme: 'ecdsa', digest: 'sha256', curve: 'prime256v1' } as const

/** A passport for each signature of Doc 9303-12, with the parts of the options as its name. */
export function simulatedPassports(now: number): readonly PackedPassport[] {
  return SIGNATURES.map((documentSignature) => {
    const state = createPassportAuthority(now, { documentSignature, countrySignature })
    const { sod, dg1 } = createPassport(state)
    return {
      name: Object.values(documentSignature).join(' '),
      sod: sod.toString('base64'),
      dg1: dg1.toString('base64'),
      root: state.countryCertificate.toString('base64'),
      now,
    }
  })
}

/** Times at which the recorded states' certificates were valid. */
const RECORDED_AT: Readonly<Record<string, string>> = {
  AT: '2023-06-01',
  CN: '2018-06-01',
  DE: '2023-06-01',
  FR: '2018-06-01',
  GB: '2021-06-01',
  PH: '2020-06-01',
  SG: '2022-08-01',
}

/**
 * The recorded security objects of real states. The recordings have no data groups, so a verified
 * object ends at the step `dg_hash`.
 */
export function recordedPassports(): readonly PackedPassport[] {
  const { vectors } = JSON.parse(
    readVector('icao9303', 'sod-real-countries.json').toString('utf8'),
  ) as { vectors: readonly { country: string; sod: string; csca: string }[] }
  return vectors.map(({ country, sod, csca }) => ({
    name: country,
    sod,
    dg1: '',
    root: csca,
    now: Date.parse(RECORDED_AT[country] ?? ''),
  }))
}

type Runtime = 'node-22' | 'node' | 'deno' | 'bun'

const LACKS_ALWAYS: Readonly<Record<Runtime, RegExp>> = {
  'node-22': /^$/,
  node: /^$/,
  deno: /^pss sha256 sha1$|4608/,
  bun: /^pss sha256 sha1$/,
}
const LACKS_ALONE: Readonly<Record<Runtime, RegExp>> = {
  'node-22': /^$/,
  node: /^$/,
  deno: /brainpool|prime192v1|sha1 secp384r1|sha(?:1|256) secp521r1|^(?:AT|DE)$/,
  bun: /brainpool|prime192v1|^(?:AT|DE)$/,
}

/** What the table in the README of the package says about a passport. */
export function isSupported(runtime: Runtime, name: string, more: '' | 'brainpool'): boolean {
  return (
    !LACKS_ALWAYS[runtime].test(name) && (more === 'brainpool' || !LACKS_ALONE[runtime].test(name))
  )
}
