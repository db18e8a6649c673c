import {
  canonicalJson,
  decodeBase64url,
  encodeBase64url,
  type ReceiptClaims,
} from '@bonded/contract'
import type { Signer } from '@bonded/core/ports/signer'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import type { SigningKey } from '../platform/keys.ts'

/** What a receipt says. */
export function claimsOf(receipt: string): ReceiptClaims {
  const bytes = decodeBase64url(receipt.split('.')[1] ?? '') ?? new Uint8Array()
  return JSON.parse(new TextDecoder().decode(bytes)) as ReceiptClaims
}

/** Changes what a receipt says, and signs it again with the key of the service. */
export async function resign(
  receipt: string,
  signer: Signer,
  changed: Partial<ReceiptClaims>,
): Promise<string> {
  const [header = ''] = receipt.split('.')
  const claims = { ...claimsOf(receipt), ...changed }
  const input = `${header}.${encodeBase64url(utf8ToBytes(JSON.stringify(claims)))}`
  return `${input}.${encodeBase64url(await signer.sign(utf8ToBytes(input)))}`
}

/** The part of a receipt that a phone with this key would have made of its text. */
export function signedBy(key: SigningKey, { context, phone }: ReceiptClaims) {
  const payload = canonicalJson({
    ...(JSON.parse(phone.payload) as object),
    context: encodeBase64url(sha256(utf8ToBytes(canonicalJson(context)))),
  })
  const data = decodeBase64url(phone.authenticator_data) ?? new Uint8Array()
  const signature = key.sign(concatBytes(data, sha256(utf8ToBytes(payload))))
  return {
    ...phone,
    public_key: encodeBase64url(key.publicKey),
    payload,
    signature: encodeBase64url(signature),
  }
}
