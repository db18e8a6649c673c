import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Compile } from 'typebox/schema'
import { encodeBase64url, ENDPOINTS, type Endpoint } from '../src/index.ts'

const KIB = 1024
/** A SHA-256 digest, a nonce, a MAC, or a pseudonym. */
const DIGEST = [32, 32] as const
/** WebAuthn 3, section 4: "at most 1023 bytes long". */
const CREDENTIAL_ID = [1, 1023] as const

type Bytes = readonly [min: number, max: number]

/** The fewest and the most bytes of each member that a request has in base64url. */
const BYTES: Readonly<Record<string, Bytes>> = {
  // A counter, flags, and the digest of the relying party id are the shortest: 37 bytes.
  authenticator_data: [37, 1.5 * KIB],
  'assertion authenticatorData': [37, 1.5 * KIB],
  // In DER, of which 72 bytes are the longest for P-256.
  signature: [8, 150],
  client_data_json: [1, 3 * KIB],
  'assertion clientDataJSON': [1, 3 * KIB],
  // WebAuthn permits 64 bytes.
  userHandle: [1, 96],
  id: CREDENTIAL_ID,
  rawId: CREDENTIAL_ID,
  attestation_object: [1, 16 * KIB],
  'registration attestationObject': [1, 16 * KIB],
  'registration authenticatorData': [1, 16 * KIB],
  'registration clientDataJSON': [1, 3 * KIB],
  // A browser key has no attestation.
  'browser_key attestationObject': [1, 3 * KIB],
  'browser_key authenticatorData': [1, 3 * KIB],
  'browser_key clientDataJSON': [1, 768],
  publicKey: [1, 768],
  // As DER SubjectPublicKeyInfo.
  public_key: [60, 384],
  certificate_chain: [1, 8 * KIB],
  sod: [3, 32 * KIB],
  dg1: [3, 192],
  dg14: [3, 8 * KIB],
  dg15: [3, 4 * KIB],
  active_authentication: [3, 1 * KIB],
  client_data_hash: DIGEST,
  challenge: DIGEST,
  commitment: DIGEST,
  digest: DIGEST,
  maker_ref: DIGEST,
  nonce: DIGEST,
  subject_ref: DIGEST,
  subject_refs: DIGEST,
  'verified_evidence signature': DIGEST,
}

/** Members that the same member within another object differs from. */
const OWNERS = ['browser_key', 'registration', 'assertion', 'verified_evidence'] as const

interface Schema {
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly oneOf?: readonly Schema[]
}

interface Found {
  readonly name: string
  readonly path: string
  readonly schema: Schema
}

/** The members of a schema that are base64url, with their path. */
function encodedIn(schema: Schema, path: readonly string[]): readonly Found[] {
  const { properties = {}, items, oneOf = [], pattern } = schema
  const member = path.at(-1) ?? ''
  const owner = OWNERS.find((one) => path.slice(0, -1).includes(one))
  const own = `${owner} ${member}`
  return [
    ...(pattern === '^[0-9A-Za-z_-]*$'
      ? [{ name: own in BYTES ? own : member, path: path.join('.'), schema }]
      : []),
    ...Object.entries(properties).flatMap(([name, value]) => encodedIn(value, [...path, name])),
    ...(items === undefined ? [] : encodedIn(items, path)),
    ...oneOf.flatMap((one) => encodedIn(one, path)),
  ]
}

const found = Object.entries<Endpoint>(ENDPOINTS).flatMap(([name, { body }]) =>
  body === undefined ? [] : encodedIn(body.schema, [name]),
)

test('every member in base64url accepts its fewest and its most bytes, and no others', () => {
  assert.deepEqual(
    [...new Set(found.map(({ name }) => name))].toSorted(),
    Object.keys(BYTES).toSorted(),
  )
  for (const { name, path, schema } of found) {
    const [min, max] = BYTES[name] ?? [0, 0]
    const accepts = Compile(schema as never)
    for (const [bytes, isAccepted] of [
      [min - 1, false],
      [min, true],
      [max, true],
      [max + 1, false],
    ] as const) {
      const text = encodeBase64url(new Uint8Array(bytes))
      assert.equal(accepts.Check(text), isAccepted, `${path}: ${bytes} bytes`)
    }
  }
})

test('a body may have each of these members with its most bytes', () => {
  for (const [name, { body }] of Object.entries<Endpoint>(ENDPOINTS))
    for (const { schema, path } of body ? encodedIn(body.schema, [name]) : []) {
      const copies = path.endsWith('certificate_chain') ? 7 : 1
      // The other members, and the names.
      const rest = 512
      assert.ok((schema.maxLength ?? 0) * copies + rest <= (body?.limitBytes ?? 0), path)
    }
})
