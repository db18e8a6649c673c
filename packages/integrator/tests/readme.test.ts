import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { stripTypeScriptTypes } from 'node:module'
import { test } from 'node:test'
import * as approval from '../src/approval/approval.ts'
import * as testing from '../src/testing/testing.ts'
import * as integrator from '../src/index.ts'
import { ACTION } from './approval/harness.ts'
import { OF_TWO } from './approval/quorum-harness.ts'
import { BASE_URL, fakeService, SERVER_CREDENTIAL } from './fake-service.ts'
import { quorumService } from './quorum-service.ts'

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
      integrator.createGate({ ...options, baseUrl: BASE_URL, fetch: service.fetch }),
    process: { env: { BONDED_SERVER_CREDENTIAL: SERVER_CREDENTIAL } },
    request: { ip: '192.0.2.7' },
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

test('the approval of the README runs', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const code = [...readme.matchAll(/```ts\n([^`]+)```/g)]
    .map(([, each = '']) => each)
    .filter((each) => each.includes('createApprovals'))
    .join('')
  assert.ok(code)
  const service = quorumService(Date.now)
  const ofService = { baseUrl: BASE_URL, serverCredential: SERVER_CREDENTIAL, fetch: service.fetch }
  const given = {
    createApprovals: approval.createApprovals,
    sqliteApprovalStore: approval.sqliteApprovalStore,
    service: ofService,
    wireOptions: { ...ACTION, service: ofService, store: approval.memoryApprovalStore() },
    team: OF_TWO.people,
    DatabaseSync: class extends DatabaseSync {
      constructor() {
        super(':memory:')
      }
    },
    euros: (cents: number) => `€${cents / 100}`,
    owner: 'agent-1',
    subjectRef: 's'.repeat(43),
    approve: (id: string) => service.bond(id),
    transfer: async (args: object, id: string) => ({ args, id }),
  }
  const body = code
    .replace(/^import .*$/m, '')
    .replace(/^const outcome = /m, 'approve(id); const outcome = ')
  const source = `export default async ({ ${Object.keys(given).join(', ')} }) => { ${body}; return { id, outcome, result, wire, progress: { state, approved, needed } } }`
  const script = stripTypeScriptTypes(source)
  const program = (await import(`data:text/javascript,${encodeURIComponent(script)}`)) as {
    default: (names: typeof given) => Promise<{
      id: string
      outcome: string
      result: object
      wire: { id: string }
      progress: object
    }>
  }
  const { id, outcome, result, wire, progress } = await program.default(given)
  assert.deepEqual(service.quorumIds(), [wire.id])
  assert.deepEqual(progress, { state: 'waiting', approved: 0, needed: 2 })
  assert.equal(outcome, 'approved')
  const args = { to: 'DE02 1203 0000 0000 2020 51', cents: 125_000 }
  assert.deepEqual(result, { args, id })
  assert.equal(service.session(id)?.state, 'completed')
})

test('the tests of the README pass', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const code = [...readme.matchAll(/```js\n([^`]*(?:`[^`]+)*?)```/g)]
    .map(([, each = '']) => each)
    .find((each) => each.includes('@bonded/integrator/testing'))
  assert.ok(code)
  const given = { assert, ...integrator, ...testing }
  const names = Object.keys(given).filter((name) => code.includes(name))
  const body = code.replaceAll(/^import .*$/gm, '')
  const source = `export default async ({ ${names.join(', ')} }, test) => { ${body} }`
  const program = (await import(`data:text/javascript,${encodeURIComponent(source)}`)) as {
    default: (names: typeof given, test: (name: string, run: () => Promise<void>) => void) => void
  }
  const tests = new Map<string, () => Promise<void>>()
  program.default(given, (name, run) => void tests.set(name, run))
  for (const run of tests.values()) await run()
  // Every outcome but those of a bond has its own name, or shares it with another tier.
  assert.ok(tests.size > 15, [...tests.keys()].join())
})
