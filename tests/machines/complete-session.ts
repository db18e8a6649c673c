import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'

const PROGRAM = resolve(import.meta.dirname, '../pack/consumer/bond.mjs')

/** The arguments of `bonded` that create the tenant of the program. */
export const CREATE_TENANT: readonly string[] =
  'tenant create --name A --environment sandbox --origin https://a.example --workflow credit_application:submit_application --json'.split(
    ' ',
  )

/** Takes a session of the service from its creation to its completion, with a phone of the test. */
export async function completeSession(origin: string, serverCredential: string): Promise<void> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--conditions=@bonded/source',
    PROGRAM,
    origin,
    serverCredential,
  ])
  const { outcome, phone } = JSON.parse(stdout) as { outcome: string; phone: string }
  assert.deepEqual([outcome, phone], ['completed', 'completed'])
}
