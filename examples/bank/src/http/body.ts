import type { IncomingMessage } from 'node:http'
import { type Reply, reject } from './reply.ts'

/** Ample for a loan form, which has five fields. */
const MAX_BODY_BYTES = 16 * 1024

/** The named fields of a form, sent by a script (JSON) or by the browser itself (urlencoded). */
export interface FormBody {
  readonly fields: Readonly<Record<string, unknown>>
  /** Whether the browser submitted the form without JavaScript and so expects a page. */
  readonly wantsPage: boolean
}

/** Reads a body. Returns a rejection when it cannot. */
export async function readForm(request: IncomingMessage): Promise<FormBody | Reply> {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  const isJson = type === 'application/json'
  if (!isJson && type !== 'application/x-www-form-urlencoded')
    return reject(415, 'unsupported_media_type', 'Send the form as JSON or as a web form.')
  const bytes = await readBytes(request)
  if (bytes === undefined)
    return reject(413, 'body_too_large', 'That is more than a loan application needs.')
  const fields = parseFields(bytes, isJson)
  return fields
    ? { fields, wantsPage: !isJson }
    : reject(400, 'malformed_body', 'The form could not be read. Reload the page and try again.')
}

async function readBytes(request: IncomingMessage): Promise<Uint8Array | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  // Leaving the loop must not close the socket, because the rejection is sent over it.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parseFields(bytes: Uint8Array, isJson: boolean): Record<string, unknown> | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (!isJson) return Object.fromEntries(new URLSearchParams(text))
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
