import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { inspect } from 'node:util'
import type { Reason } from '@bonded/contract'
import {
  createGate,
  type FetchLike,
  GATE_ERROR_CODES,
  GATE_REMEDIES,
  GateError,
  type GateErrorCode,
  memoryPendingStore,
} from '../src/index.ts'
import { testBonded } from '../src/testing/testing.ts'
import { BOND, DIGEST, OWNER, WORKFLOW } from './harness.ts'

process.env['BONDED_TEST_DOUBLE'] = 'on'

function backend(fetch?: FetchLike) {
  const bonded = testBonded()
  const store = memoryPendingStore()
  const gate = createGate({ ...bonded.service, ...(fetch && { fetch }), store })
  const verify = async () => {
    const { session } = await gate.create(BOND)
    const session_id = session.id
    return gate.verify({ ...WORKFLOW, owner: OWNER, form_digest: DIGEST, session_id })
  }
  return { bonded, gate, verify }
}

/** The create of a session while the service rejects every call. */
async function createDuring(rejection: Reason): Promise<unknown> {
  const { bonded, gate } = backend()
  bonded.set({ rejection })
  return gate.create(BOND)
}

/** How a backend gets each error. */
const CAUSES: Readonly<Record<GateErrorCode, () => Promise<unknown>>> = {
  service_unavailable: () => createDuring('store_unavailable'),
  rate_limited: () => createDuring('rate_limited'),
  unauthorized: () => createDuring('credential_invalid'),
  forbidden: () => createDuring('workflow_not_enabled'),
  invalid_request: () => createDuring('workflow_unknown'),
  async not_found() {
    const { bonded, gate, verify } = backend()
    const verdict = await verify()
    assert.ok(verdict.decision === 'accept')
    await gate.use(verdict, async () => 'A-1')
    bonded.set({ rejection: 'session_not_found' })
    return gate.complete(verdict.session_id)
  },
  async unexpected_answer() {
    const page = { status: 404, headers: { get: () => null }, text: async () => '<html>' }
    return backend(async () => page).gate.create(BOND)
  },
  async invalid_configuration() {
    const { service } = testBonded()
    return createGate({ ...service, baseUrl: 'bank.example', store: memoryPendingStore() })
  },
  session_unknown: () => backend().gate.complete(`sess_${'0'.repeat(22)}`),
  async action_not_committed() {
    const { gate } = backend()
    return gate.complete((await gate.create(BOND)).session.id)
  },
  async verdict_invalid() {
    const { gate, verify } = backend()
    const verdict = await verify()
    return gate.use({ ...verdict } as never, async () => 'A-1')
  },
}

for (const code of GATE_ERROR_CODES)
  test(`the error ${code} says what happened and what to do`, async () => {
    const error: unknown = await CAUSES[code]().catch((thrown: unknown) => thrown)
    assert.ok(error instanceof GateError, String(error))
    assert.deepEqual([error.code, error.remedy], [code, GATE_REMEDIES[code]])
    for (const sentence of [error.message, error.remedy]) assert.match(sentence, /^\w.+\.$/)
    // A log line of the error alone must be enough.
    for (const word of [code, error.message, error.remedy]) assert.ok(inspect(error).includes(word))
  })

test('a service that does not answer is an error with its address and the cause', async () => {
  const refused = new Error('connect ECONNREFUSED 192.0.2.1:443')
  const { gate } = backend(async () => {
    throw new TypeError('fetch failed', { cause: refused })
  })
  const error: unknown = await gate.create(BOND).catch((thrown: unknown) => thrown)
  assert.ok(error instanceof GateError)
  assert.equal(
    error.message,
    'The service at https://bonded.test did not answer: fetch failed: connect ECONNREFUSED 192.0.2.1:443.',
  )
  assert.equal((error.cause as Error).cause, refused)
})

test('an answer that is cut says how much came, and nothing of what it has', async () => {
  const text = '{"completion_secret":"bcs_'
  const { gate } = backend(async () => ({
    status: 201,
    headers: { get: () => null },
    text: async () => text,
  }))
  await assert.rejects(gate.create(BOND), {
    code: 'service_unavailable',
    message: 'The service’s answer could not be read: its 26 characters are not whole JSON.',
  })
})

test('a rejected value is named by its type or its length, never by its text', async () => {
  const body = (param: string) =>
    JSON.stringify({ error: { code: 'invalid_request', message: 'Not accepted.', param } })
  const rejected = async (value: unknown, param = 'context.display.0.value') => {
    const text = async () => body(param)
    const { gate } = backend(async () => ({ status: 400, headers: { get: () => null }, text }))
    const context = { display: [{ label: 'Amount', value: value as string }], digest: DIGEST }
    const error: unknown = await gate
      .create({ ...BOND, context })
      .catch((thrown: unknown) => thrown)
    assert.ok(error instanceof GateError)
    return error.message
  }
  const value = 'Not accepted. context.display.0.value is'
  assert.equal(await rejected(12_500), `${value} of the type number.`)
  assert.equal(await rejected(''), `${value} empty.`)
  assert.equal(await rejected('hunter2'.repeat(40)), `${value} a text of 280 characters.`)
  assert.equal(await rejected(['a']), `${value} a list.`)
  for (const param of ['context', 'context.none.value', 'context.display.0.value.a', ''])
    assert.equal(await rejected('hunter2', param), 'Not accepted.', param)
})

test('the page about a reason is a link in the log of a backend', async () => {
  const error = (await createDuring('workflow_unknown').catch(
    (thrown: unknown) => thrown,
  )) as GateError
  assert.equal(error.docUrl, 'https://bonded.test/reasons#workflow_unknown')
  assert.ok(inspect(error).includes(error.docUrl ?? '-'))
})

test('the README lists every error with what to do, and whether a retry helps', async () => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const [, section = ''] = readme.split('\n## Errors\n')
  const rows = [...section.matchAll(/^\| `(\w+)` \| (.+) \| (yes|no) \|$/gm)].map((row) =>
    row.slice(1),
  )
  const expected = GATE_ERROR_CODES.map((code) => {
    const { remedy, retryable } = new GateError(code, 'Text.')
    return [code, remedy, retryable ? 'yes' : 'no']
  })
  assert.deepEqual(rows, expected)
})
