import { createPublicKey, verify } from 'node:crypto'
import { base64 } from '@bonded/core/domain/receipt-log'
import type { Clock } from '@bonded/core/ports/clock'
import type { Witness, WitnessAnswer, WitnessRequest } from '@bonded/core/ports/witness'
import { checkedPost } from '../webhooks/checked-post.ts'
import type { WitnessSettings } from './witness-settings.ts'

/** Two of them end within a round. */
const TIMEOUT_MS = 4_000
/** A witness answers with a line of 100 characters for each of its keys. */
const MAX_RESPONSE_BYTES = 32 * 1024
const KEY_ID_BYTES = 4
const TIME_BYTES = 8
const SIGNATURE_BYTES = 64
/** A time is at most 2^63 - 1. */
const MAX_TIME = 2n ** 63n - 1n
const SIZE = /^(0|[1-9]\d{0,14})\n$/

/**
 * Asks a witness by HTTP (c2sp.org/tlog-witness). The operator has named its host, so the address
 * can be a private one. It follows no redirect, and reads a bounded part of the response.
 */
export function witnessClient(settings: WitnessSettings, clock: Clock): Witness {
  const { name, url, host } = settings
  const limits = { timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_RESPONSE_BYTES }
  const post = checkedPost({ clock, hosts: [host], ...limits })
  return {
    name,
    isLine: (line) => signatureIn(line, settings) !== undefined,
    async cosign(request, stop) {
      const headers = () => ({ 'content-type': 'text/plain; charset=utf-8' })
      const result = await post({ url, body: bodyOf(request), headers }, stop)
      if ('error' in result) return { problem: result.error }
      const { status, body } = result
      const size = status === 409 ? SIZE.exec(body)?.[1] : undefined
      if (size !== undefined) return { size: Number(size) }
      if (status !== 200) return { problem: `status ${status}` }
      return cosignatureIn(body, { settings, text: textOf(request.checkpoint) })
    },
  }
}

function bodyOf({ checkpoint, old, proof }: WitnessRequest): string {
  return [`old ${old}`, ...proof.map(base64), '', checkpoint].join('\n')
}

/** The text of a checkpoint without its signatures. */
function textOf(checkpoint: string): string {
  return checkpoint.slice(0, checkpoint.lastIndexOf('\n\n') + 1)
}

/** The first line of the witness's key. What it says beside it is ignored. */
function cosignatureIn(
  body: string,
  { settings, text }: { readonly settings: WitnessSettings; readonly text: string },
): WitnessAnswer {
  for (const line of body.split('\n')) {
    const bytes = signatureIn(line, settings)
    if (bytes === undefined) continue
    const time = bytes.readBigUInt64BE(KEY_ID_BYTES)
    const message = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`)
    const { publicKey: x } = settings
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(x).toString('base64url') }
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    const isSigned = verify(null, message, key, bytes.subarray(KEY_ID_BYTES + TIME_BYTES))
    if (time > MAX_TIME || !isSigned) return { problem: 'its cosignature does not verify' }
    return { line: `${line}\n` }
  }
  return { problem: 'it answered without a cosignature of its key' }
}

/** The bytes of a line that names the witness and its key, undefined for every other line. */
function signatureIn(line: string, { name, keyId }: WitnessSettings): Buffer | undefined {
  const prefix = `— ${name} `
  if (!line.startsWith(prefix)) return undefined
  const text = line.slice(prefix.length)
  const bytes = Buffer.from(text, 'base64')
  const isWhole =
    bytes.length === KEY_ID_BYTES + TIME_BYTES + SIGNATURE_BYTES &&
    bytes.toString('base64') === text
  return isWhole && bytes.subarray(0, KEY_ID_BYTES).equals(keyId) ? bytes : undefined
}
