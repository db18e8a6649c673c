/** Decodes the bytes of a sample. */
export function base64(text: string): Buffer {
  return Buffer.from(text, 'base64')
}
