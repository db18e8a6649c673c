import { credentialChecksum, Secret } from '@bonded/contract'
import type { Service } from '../service.ts'

/** A new server credential: the row to store, and the secret, which is shown once. */
export function createCredential({ random, keys }: Service) {
  const keyId = random.base62(10)
  const bare = `sk_beta_${keyId}_${random.base62(43)}`
  const text = bare + credentialChecksum(bare)
  return {
    row: { keyId, hash: keys.digest(text), last4: text.slice(-4) },
    secret: new Secret(text),
  }
}
