import { createHash } from 'node:crypto'

/** Data that an implementation sent. Each case checks what it uses of it. */
// oxlint-disable-next-line typescript/no-explicit-any -- its shape is what the kit checks
export type Members = Record<string, any>

/** JCS: the canonical form of RFC 8785. Names are compared as UTF-16, as `sort` does. */
export function jcs(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jcs).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${jcs(one)}`).join()}}`
}

export function sha256(data: string | Uint8Array): Buffer {
  return createHash('sha256').update(data).digest()
}

/** SHA(x) of a text. */
export function sha(text: string): string {
  return sha256(text).toString('base64url')
}

/** SHA(JCS(x)), or null for null. */
export function hashOf(value: unknown): string | null {
  return value === null ? null : sha(jcs(value))
}

/** The bytes of base64url in its only form, or undefined. */
export function fromBase64url(text: unknown): Buffer | undefined {
  const bytes = typeof text === 'string' ? Buffer.from(text, 'base64url') : undefined
  return bytes?.toString('base64url') === text ? bytes : undefined
}

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** An id that is derived from a text, so that a run is repeatable: a prefix and 22 characters. */
export function idOf(prefix: string, text: string): string {
  const digits = [...sha256(text).subarray(0, 22)].map((byte) => BASE62[byte % BASE62.length])
  return `${prefix}_${digits.join('')}`
}
