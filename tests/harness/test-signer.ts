import { createPrivateKey } from 'node:crypto'
import type { PublicJwk, Signer } from '../../packages/core/src/ports/signer.ts'
import { keySigner } from '../../packages/server/src/adapters/signer/key-signer.ts'
import { publicJwk } from '../../packages/server/src/adapters/signer/receipt-keys.ts'

/** Who signs receipts: a key of the tests, by default. `off` makes none. */
export type ReceiptSigning = Signer | 'off'

/** What precedes the 32 bytes of a private Ed25519 key in PKCS #8. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

/** A signer with a key for each number, and the keys of lower numbers as retired ones. */
export function testSigner(number = 0): Signer {
  const keys = Array.from({ length: number + 1 }, (_, index) =>
    createPrivateKey({
      key: Buffer.concat([PKCS8, Buffer.alloc(32, number - index + 1)]),
      format: 'der',
      type: 'pkcs8',
    }),
  )
  const [first, ...retired] = keys.map((key) => publicJwk(key))
  return keySigner([first as PublicJwk, ...retired], keys[0] as (typeof keys)[0])
}
