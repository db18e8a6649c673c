import { canonicalJson, encodeBase64url } from '@bonded/contract'
import type { Sha256 } from './ports.ts'

/** A text as UTF-8. TextEncoder is not part of ECMAScript. A lone surrogate throws. */
export function utf8(text: string): Uint8Array {
  const escaped = encodeURIComponent(text)
  const bytes: number[] = []
  for (let index = 0; index < escaped.length; index++) {
    if (escaped[index] === '%') {
      bytes.push(Number.parseInt(escaped.slice(index + 1, index + 3), 16))
      index += 2
    } else bytes.push(escaped.charCodeAt(index))
  }
  return Uint8Array.from(bytes)
}

export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    whole.set(part, offset)
    offset += part.length
  }
  return whole
}

/** SHA(JCS(value)) of the protocol: base64url of the SHA-256 of the canonical text. */
export async function hashOf(sha256: Sha256, value: unknown): Promise<string> {
  return encodeBase64url(await sha256(utf8(canonicalJson(value))))
}
