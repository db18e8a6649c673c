import type { IncomingMessage } from 'node:http'
import { type Reply, reject } from './reply.ts'

/** Ample for the name of a scenario. */
const MAX_BODY_BYTES = 1024

/** Reads a small JSON object. Returns a rejection when it cannot. */
export async function readFields(
  request: IncomingMessage,
): Promise<{ readonly fields: Readonly<Record<string, unknown>> } | Reply> {
  if (request.headers['content-type'] !== 'application/json')
    return reject(415, 'unsupported_media_type', 'Send JSON.')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) return reject(413, 'body_too_large', 'Send less.')
    chunks.push(chunk)
  }
  try {
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { fields: value as Record<string, unknown> }
  } catch {
    // Rejected below, like every other text.
  }
  return reject(400, 'malformed_body', 'Send a JSON object.')
}
