import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { machine, ServingProcess } from './process.ts'
import { until } from './process.ts'

/** Longer than a node that has started waits, and than a receipt promises. */
const LOGGED_WITHIN_MS = 60_000

/** Inserts rows of receipts, which a running service appends to its log. */
export function receiptRows(count: number): string {
  const rows = Array.from({ length: count }, () => {
    const id = randomBytes(16).toString('hex').slice(0, 22)
    const jws = randomBytes(24).toString('base64url')
    return `('sess_${id}', 'bonded', 'ten_x', 'w', 'a', '${jws}', ${Date.now()})`
  })
  return `insert into receipt (session_id, state, tenant_id, workflow, action, jws, made_at)
    values ${rows.join()}`
}

export const sizeOf = (checkpoint: string) => Number(checkpoint.split('\n')[1])
export const originOf = (checkpoint: string) => checkpoint.split('\n')[0] ?? ''

/** Waits until the service has signed its log at a size. */
export function checkpointOf(service: ServingProcess, size: number): Promise<string> {
  return until(async () => {
    const reply = await fetch(`${service.origin}/receipts/log/checkpoint`).catch(() => undefined)
    const checkpoint = reply?.status === 200 ? await reply.text() : ''
    return sizeOf(checkpoint) === size ? checkpoint : undefined
  }, LOGGED_WITHIN_MS)
}

/** Runs `receipt verify-log` as a tenant does, and returns what it prints. */
export async function verifyLog(
  tool: Pick<ReturnType<typeof machine>, 'run'>,
  service: ServingProcess,
  { older, newer }: { readonly older: string; readonly newer: string },
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-verify-'))
  const fileOf = async (name: string, path: string) => {
    // A node that has just lost its primary answers with 503, and one that was polled with 429.
    const reply = await until(async () => {
      const got = await fetch(`${service.origin}${path}`)
      return got.status < 500 && got.status !== 429 ? got : undefined
    }, LOGGED_WITHIN_MS)
    return write(name, reply.status === 200 ? await reply.text() : '')
  }
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  try {
    const proof = `/receipts/log/consistency/${sizeOf(older)}/${sizeOf(newer)}`
    const args = ['receipt', 'verify-log', write('older', older), write('newer', newer)]
    args.push('--proof', await fileOf('proof', proof))
    args.push('--jwks', await fileOf('jwks', '/.well-known/jwks.json'))
    args.push('--closed', await fileOf('closed', '/receipts/log/closed'))
    const { status, stdout, stderr } = tool.run(...args)
    assert.ok(status !== null)
    return stdout + stderr
  } finally {
    rmSync(folder, { recursive: true })
  }
}
