import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const IV_BYTES = 12
const TAG_BYTES = 16

/** Encrypts a text and binds it to a context, without which it cannot be decrypted. Base64url. */
export function seal(key: KeyObject, text: string, sealedFor: string): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES }).setAAD(
    Buffer.from(sealedFor),
  )
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([iv, sealed, cipher.getAuthTag()]).toString('base64url')
}

/**
 * Decrypts a sealed text.
 *
 * @throws if the sealed text was changed, or was sealed under another key or for another context
 */
export function unseal(key: KeyObject, sealed: string, sealedFor: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(sealedFor)).setAuthTag(bytes.subarray(-TAG_BYTES))
  return Buffer.concat([
    decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)),
    decipher.final(),
  ]).toString('utf8')
}
