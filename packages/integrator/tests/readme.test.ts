import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import * as integrator from '../src/index.ts'
import { BASE_URL, fakeService, SERVER_CREDENTIAL } from './fake-service.ts'

type Outcome = integrator.ProtectOutcome<string>

test('the program of the README runs', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const [, code = ''] = /```ts\n([^`]+)```/.exec(readme) ?? []
  const service = fakeService(Date.now)
  const form = { amount: 12_500 }
  const given = {
    bindingDigest: integrator.bindingDigest,
    memoryPendingStore: integrator.memoryPendingStore,
    createGate: (options: integrator.GateOptions<unknown>) =>
      integrator.createGate({ ...options, fetch: service.fetch }),
    baseUrl: BASE_URL,
    serverCredential: SERVER_CREDENTIAL,
    user: { id: 'user-1' },
    draft: form,
    form,
    save: async () => 'A-1',
    approve: (id: string) => service.bond(id),
  }
  // The page and the phone stand between the two halves.
  const body = code
    .replace(/^import .*$/m, '')
    .replace(/^\/\/ POST \/applications.*$/m, 'approve(session.id); const session_id = session.id')
  const source = `export default async ({ ${Object.keys(given).join(', ')} }) => { ${body}; return outcome }`
  const program = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
    default: (names: typeof given) => Promise<Outcome>
  }
  const outcome = await program.default(given)
  assert.deepEqual(outcome, { outcome: 'completed', decision: 'accept', result: 'A-1' })
})
