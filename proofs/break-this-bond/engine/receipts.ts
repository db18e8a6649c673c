import { encodeBase64url } from '@bonded/contract'
import { base64, checkpointFacts } from '@bonded/core/domain/receipt-log'
import type { PublicJwk, Signer } from '@bonded/core/ports/signer'
import type { Witness } from '@bonded/core/ports/witness'
import { type ReceiptKeySet, verifyConsistency } from '@bonded/integrator'
import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex, concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { ed25519Key } from '../platform/keys.ts'

const COSIGNATURE = 4
const KEY_ID_BYTES = 4
const TIME_BYTES = 8
const MS_PER_SECOND = 1_000
const NAME = 'witness.example'

/** What makes the receipts of a service and their log credible, and to whom it belongs. */
export interface ReceiptParts {
  /** The operator's key, which signs receipts and checkpoints. */
  readonly signer: Signer
  readonly jwks: ReceiptKeySet
  /** The file of the operator's node, with the latest checkpoint that it knows. */
  kept: string
  /** Of another organization. */
  readonly witness: OutsideWitness
}

interface OutsideWitness extends Witness {
  /** By which its cosignatures are verified. */
  readonly verifierKey: string
  /** Why it has refused to cosign, the first refusal first. */
  readonly refusals: string[]
}

/** Creates the keys, and a witness that knows nothing yet. */
export function receiptParts(random: () => Uint8Array, now: () => number): ReceiptParts {
  const key = ed25519Key(random())
  const x = encodeBase64url(key.publicKey)
  const kid = encodeBase64url(sha256(utf8ToBytes(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`)))
  const jwk: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }
  const jwks = { keys: [jwk] }
  return {
    signer: { publicKeys: [jwk], sign: async (bytes) => key.sign(bytes) },
    jwks,
    kept: '',
    witness: outsideWitness({ key: ed25519Key(random()), jwks, now }),
  }
}

/**
 * A witness (c2sp.org/tlog-witness), which cosigns what continues the last checkpoint of the same
 * log that it has cosigned. The verifier is the one of every tenant.
 */
function outsideWitness(of: {
  readonly key: ReturnType<typeof ed25519Key>
  readonly jwks: ReceiptKeySet
  readonly now: () => number
}): OutsideWitness {
  const { key, jwks, now } = of
  const typed = concatBytes(Uint8Array.of(COSIGNATURE), key.publicKey)
  const keyId = sha256(concatBytes(utf8ToBytes(`${NAME}\n`), typed)).slice(0, KEY_ID_BYTES)
  const latest = new Map<string, string>()
  const refusals: string[] = []
  return {
    name: NAME,
    verifierKey: `${NAME}+${bytesToHex(keyId)}+${base64(typed)}`,
    refusals,
    isLine: (line) => line.startsWith(`— ${NAME} `),
    async cosign({ checkpoint, old, proof }) {
      const { origin } = checkpointFacts(checkpoint) ?? { origin: '' }
      const older = latest.get(origin)
      if (older !== undefined) {
        const size = checkpointFacts(older)?.size ?? 0
        if (old !== size) return { size }
        const hashes = proof.map(base64).join('\n')
        const verdict = await verifyConsistency({ older, newer: checkpoint, proof: hashes, jwks })
        if (verdict.decision === 'reject') {
          refusals.push(verdict.reason)
          return { problem: verdict.reason }
        }
      }
      latest.set(origin, checkpoint)
      const text = checkpoint.slice(0, checkpoint.lastIndexOf('\n\n') + 1)
      const time = BigInt(Math.floor(now() / MS_PER_SECOND))
      const stamp = new Uint8Array(TIME_BYTES)
      new DataView(stamp.buffer).setBigUint64(0, time)
      const signature = key.sign(utf8ToBytes(`cosignature/v1\ntime ${time}\n${text}`))
      return { line: `— ${NAME} ${base64(concatBytes(keyId, stamp, signature))}\n` }
    },
  }
}
