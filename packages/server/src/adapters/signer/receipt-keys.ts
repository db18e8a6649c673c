import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
} from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PublicJwk } from '@bonded/core/ports/signer'

/** The keys of receipts. The first one signs; the service publishes all of them. */
export interface ReceiptKeys {
  readonly publicKeys: readonly [PublicJwk, ...PublicJwk[]]
  /** Undefined where only another program has it. */
  readonly privateKey: KeyObject | undefined
}

/** The keys of receipts cannot be used. The message is for the operator and quotes no key. */
export class ReceiptKeyError extends Error {
  readonly code = 'receipt_keys_invalid'
  override readonly name = 'ReceiptKeyError'
}

const MAX_BYTES = 64 * 1024
/** One new key a month for five years. */
const MAX_KEYS = 64
/** The group may read, as Kubernetes mounts secrets, but not write. Others have no access. */
const FORBIDDEN_MODE = 0o027
const PEM = /-----BEGIN (PRIVATE|PUBLIC) KEY-----[\s\S]+?-----END \1 KEY-----/g

/**
 * Reads a file of Ed25519 keys: PEM blocks, or a JSON Web Key Set. Retired keys follow the one that
 * signs, with or without their private part.
 *
 * @throws {ReceiptKeyError} if it cannot be used
 */
export function readReceiptKeys(file: string): ReceiptKeys {
  const keys = keysIn(contentOf(file))
  const publicKeys = keys.map(publicJwk)
  const [first] = publicKeys
  const fail = (problem: string): never => {
    throw new ReceiptKeyError(problem)
  }
  if (first === undefined) return fail('it has no key')
  if (keys.length > MAX_KEYS) return fail(`it has more than ${MAX_KEYS} keys`)
  if (new Set(publicKeys.map(({ kid }) => kid)).size < keys.length)
    return fail('it has a key twice')
  const isSecret = keys.some(({ type }) => type === 'private')
  if (isSecret && process.platform !== 'win32' && (statSync(file).mode & FORBIDDEN_MODE) !== 0)
    return fail('others than its owner and group can read it, or others than its owner change it')
  return {
    publicKeys: [first, ...publicKeys.slice(1)],
    privateKey: keys[0]?.type === 'private' ? keys[0] : undefined,
  }
}

/** Returns the key of a sandbox without the setting. The first call makes its file. */
export function ownReceiptKeys(dataDir: string): ReceiptKeys {
  const file = join(dataDir, 'receipt.key')
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}`
  try {
    statSync(file)
  } catch {
    const { privateKey } = generateKeyPairSync('ed25519')
    try {
      // As for root.key: the link publishes the whole file, and one of two processes makes it.
      writeFileSync(draft, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
      linkSync(draft, file)
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
    } finally {
      rmSync(draft, { force: true })
    }
  }
  return readReceiptKeys(file)
}

function contentOf(file: string): string {
  try {
    const { size } = statSync(file)
    // A device such as /dev/zero has no size and no end.
    if (size > 0 && size <= MAX_BYTES) return readFileSync(file, 'utf8')
  } catch {
    // The system's message adds nothing to what is said below.
  }
  throw new ReceiptKeyError('it is not a file that this user can read, with 1 to 65,536 bytes')
}

function keysIn(text: string): readonly KeyObject[] {
  try {
    const keys = text.trimStart().startsWith('{') ? jwksIn(text) : pemsIn(text)
    if (keys.every(({ asymmetricKeyType }) => asymmetricKeyType === 'ed25519')) return keys
  } catch {
    // The cause could quote a private key.
  }
  throw new ReceiptKeyError('it has something that is not an Ed25519 key')
}

function jwksIn(text: string): readonly KeyObject[] {
  const { keys } = JSON.parse(text) as { readonly keys: readonly { readonly d?: string }[] }
  return keys.map((key) =>
    key.d === undefined
      ? createPublicKey({ key, format: 'jwk' })
      : createPrivateKey({ key, format: 'jwk' }),
  )
}

function pemsIn(text: string): readonly KeyObject[] {
  return [...text.matchAll(PEM)].map(([pem, kind]) =>
    kind === 'PRIVATE' ? createPrivateKey(pem) : createPublicKey(pem),
  )
}

/** The public key of a key, named by its thumbprint. */
export function publicJwk(key: KeyObject): PublicJwk {
  const { x = '' } = key.export({ format: 'jwk' })
  // RFC 7638: the required members in the order of the alphabet.
  const kid = createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url')
  return { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }
}
