import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { memoryApprovalStore } from '../src/approval/memory-store.ts'
import { GateError, memoryPendingStore, Secret } from '../src/index.ts'
import { stdio } from '../src/mcp/mcp.ts'
import { BASE_URL, SERVER_CREDENTIAL } from './fake-service.ts'

process.env['BONDED_TEST_DOUBLE'] = 'on'

type Members = Readonly<Record<string, unknown>>
type Called = (options: Members) => unknown
type Exported = Readonly<Record<string, (...given: never[]) => unknown>>

/** A function with its required options, and how it is called with some of them. */
interface Row {
  readonly options: Members
  readonly call: (exported: (...given: never[]) => unknown) => Called
}

const none = () => undefined
const service = { baseUrl: BASE_URL, serverCredential: SERVER_CREDENTIAL }
const first = (exported: (...given: never[]) => unknown): Called => exported as unknown as Called
/** A function whose required argument is not in an object. */
const only = (name: string) => (exported: (...given: never[]) => unknown) => (options: Members) =>
  (exported as (one: unknown) => unknown)(options[name])
const form: Row = {
  options: {
    gate: { create: none, protect: none },
    workflow: 'transfer',
    action: 'send',
    owner: none,
    address: none,
    record: none,
    display: none,
    accept: none,
  },
  call: first,
}
const db = new DatabaseSync(':memory:')
db.exec('pragma synchronous = full')
const approvals = {
  execute: none,
  latest: none,
  progress: none,
  request: none,
  status: none,
  action: 'send',
}

const caller = { owner: 'a', subjectRef: 's', requester: { kind: 'agent', name: 'A' } } as const
const tool: Row = {
  options: {
    server: { registerTool: none },
    description: 'Sends money.',
    inputSchema: {},
    run: none,
    approvals,
    caller: stdio(caller),
  },
  call: (exported) => (options) => {
    const { server, approvals: ofTool, caller, ...tool } = options
    const given = { approvals: ofTool, caller }
    return (exported as (...all: unknown[]) => unknown)(server, tool, given)
  },
}

/** Every public function with required options, by its entry of the package. */
const TABLE: Readonly<Record<string, Row>> = {
  '. createGate': { options: { ...service, store: memoryPendingStore() }, call: first },
  './express gatedForm': form,
  './fastify gatedForm': form,
  './fetch gatedForm': form,
  './hono gatedForm': form,
  './node gatedForm': form,
  './approval createApprovals': {
    options: {
      service,
      store: memoryApprovalStore(),
      workflow: 'transfer',
      action: 'send',
      version: '1',
      describe: none,
    },
    call: first,
  },
  './mcp withApproval': tool,
  './mcp stdio': { options: caller, call: first },
  './mcp2 withApproval': tool,
  './mcp2 stdio': { options: caller, call: first },
  './postgres postgresPendingStore': {
    options: { pool: { query: none, connect: none } },
    call: only('pool'),
  },
  './postgres postgresJsPendingStore': {
    options: { sql: { unsafe: none, begin: none } },
    call: only('sql'),
  },
  './redis redisPendingStore': { options: { send: none }, call: only('send') },
  './sqlite sqlitePendingStore': { options: { db }, call: only('db') },
  './approval sqliteApprovalStore': { options: { db }, call: only('db') },
  './approval postgresApprovalStore': {
    options: { pool: { query: async () => ({ rows: [{ synchronous_commit: 'on' }] }) } },
    call: only('pool'),
  },
  './approval redisApprovalStore': {
    options: {
      send: async ([, , name]: readonly string[]) => [
        name,
        { appendonly: 'yes', appendfsync: 'always' }[String(name)] ?? 'noeviction',
      ],
    },
    call: only('send'),
  },
  '. verifyWebhook': {
    options: { headers: {}, body: '{}', secret: new Secret(`whsec_${btoa('s'.repeat(32))}`) },
    call: first,
  },
  '. signWebhook': {
    options: { secret: new Secret(`whsec_${btoa('s'.repeat(32))}`) },
    call: (exported) => (options) =>
      (exported as (...all: unknown[]) => unknown)(
        { id: 'a', sentAtMs: 0, body: '' },
        options['secret'],
      ),
  },
  '. verifyReceipt': { options: { receipt: 'a', jwks: { keys: [] } }, call: first },
  '. verifyQuorum': {
    options: {
      receipts: [{ receipt: 'a' }],
      jwks: { keys: [] },
      tenantId: 'ten_a',
      workflow: 'wire',
      digest: 'a',
    },
    call: (exported) => (options) =>
      (exported as (...all: unknown[]) => unknown)(options['receipts'], options),
  },
  './witnesses verifyWitnesses': {
    options: { witnesses: [`w.example+00df7ba9+BA${'A'.repeat(42)}`] },
    call: (exported) => (options) => (exported as (...all: unknown[]) => unknown)('', options),
  },
}

/** Public functions without a required option, or with one that is data. */
const WITHOUT: Readonly<Record<string, string>> = {
  '. adviceFor': 'its argument is a reason of a closed list',
  '. bindingDigest': 'its argument is the record, which it rejects itself',
  '. displayText': 'its argument is a text of a user',
  '. forwardedAddress': 'its argument is a header, which may be missing',
  '. GateError': 'this package creates it',
  '. memoryPendingStore': 'it takes nothing',
  '. publicSession': 'its argument is the answer of create',
  '. Secret': 'its argument is the secret',
  '. systemRandom': 'its argument is a number',
  '. verifyConsistency': 'an auditor passes checkpoints, and a malformed one is a verdict',
  './approval Approvals': 'createApprovals constructs it',
  './approval ApprovalError': 'this package creates it',
  './approval NotStarted': 'its argument is a message',
  './approval memoryApprovalStore': 'it takes nothing',
  './approval-store-suite approvalStoreSuite': 'a test runner calls it',
  './pending-store-suite pendingStoreSuite': 'a test runner calls it',
  './approval requestText': 'its argument is the arguments of an action, which it rejects itself',
  './sqlite quietly': 'it is for the stores of this package',
  './sqlite waitForOthers': 'it is for the stores of this package',
  './testing everyOutcome': 'it takes nothing',
  './testing testBonded': 'its argument is optional',
  './witnesses verifyWitnessedQuorum': 'it is verifyQuorum, which is in the table',
  './witnesses verifyWitnessedReceipt': 'it is verifyReceipt, which is in the table',
}

const { exports } = JSON.parse(
  await readFile(new URL('../package.json', import.meta.url), 'utf8'),
) as { exports: Readonly<Record<string, { readonly '@bonded/source': string }>> }
const entries = await Promise.all(
  Object.entries(exports).map(async ([entry, { '@bonded/source': source }]) => {
    const exported = (await import(new URL(`../${source}`, import.meta.url).href)) as Exported
    return [entry, exported] as const
  }),
)
const functions = new Map(
  entries.flatMap(([entry, exported]) =>
    Object.entries(exported)
      .filter(([, value]) => typeof value === 'function')
      .map(([name, value]) => [`${entry} ${name}`, value] as const),
  ),
)

const byName: Exported = Object.fromEntries(functions)

test('every public function is in the table, or has the reason why it is not', () => {
  const listed = [...Object.keys(TABLE), ...Object.keys(WITHOUT)]
  assert.deepEqual([...functions.keys()].toSorted(), listed.toSorted())
})

for (const [name, { options, call }] of Object.entries(TABLE)) {
  const exported = byName[name] ?? none
  test(`${name} runs with its required options`, async () => {
    await call(exported)(options)
  })

  for (const option of Object.keys(options))
    test(`${name} rejects at once a call without ${option}, and names it`, async () => {
      for (const wrong of [undefined, null, 7]) {
        const given = { ...options, [option]: wrong }
        const thrown = await new Promise((resolve) => resolve(call(exported)(given))).catch(
          (error: unknown) => error,
        )
        assert.ok(thrown instanceof GateError, String(thrown))
        assert.equal(thrown.code, 'invalid_configuration')
        const named = option === 'jwks' ? /JSON Web Key Set/ : new RegExp(option)
        assert.match(thrown.message, named)
      }
    })
}
