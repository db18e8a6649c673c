import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Readable } from 'node:stream'

/** The first output of a process. Fails at once where the process ends without any. */
export async function firstOutput({ stdout }: { readonly stdout: Readable }): Promise<string> {
  const [chunk] = (await Promise.race([once(stdout, 'data'), once(stdout, 'end')])) as [Buffer?]
  assert.ok(chunk, 'the process ended before it printed anything')
  return String(chunk)
}
