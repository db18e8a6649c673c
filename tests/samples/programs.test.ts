import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import * as contract from '@bonded/contract'
import * as integrator from '@bonded/integrator'
import { pendingStoreSuite } from '@bonded/integrator/pending-store-suite'
import * as simulator from '@bonded/simulator'
import { harness, PUBLIC_ORIGIN } from '../harness/harness.ts'
import { testSigner } from '../harness/test-signer.ts'
import { runSample, samplesOf } from './samples.ts'

/** A sample of a document by a text in it. */
const sample = (path: string, text: string) =>
  samplesOf(path).find(({ language, code }) => language !== 'html' && code.includes(text))

test('the sample of packages/contract/README.md reads an endpoint, a link and a reason', async () => {
  await using h = await harness()
  const { qr_payload } = await h.create()
  const result = await runSample(
    sample('packages/contract/README.md', 'parseHandoff'),
    { ...contract, scannedText: qr_payload },
    '[method, path, handoff, message]',
  )
  const [method, path, handoff, message] = result as [string, string, object, string]
  assert.deepEqual([method, path], ['POST', '/api/v1/sessions'])
  assert.ok('nonce' in handoff)
  assert.equal(message, contract.REASONS.challenge_expired.message)
})

test('the simulated phone of packages/simulator/README.md bonds a session', async () => {
  await using h = await harness()
  const session = await h.create()
  const local = `http://127.0.0.1:${h.running.port}`
  const result = await runSample(
    sample('packages/simulator/README.md', 'createSimulatedPhone'),
    {
      createSimulatedPhone: () =>
        simulator.createSimulatedPhone({
          origin: PUBLIC_ORIGIN,
          fetch: (url, init) => fetch(url.replace(PUBLIC_ORIGIN, local), init as RequestInit),
        }),
      session,
    },
    '[state, rejection]',
  )
  assert.deepEqual(result, ['bonded', undefined])
})

test('the samples of receipts.md and of the integrator’s README.md verify a receipt', async () => {
  await using h = await harness({ receiptSigner: testSigner() })
  const context = { display: [{ label: 'Amount', value: '€1' }] }
  const { session } = await h.reach('bonded', { workflow: 'credit_application', context })
  const { body } = await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  const { text } = await h.call('GET', '/.well-known/jwks.json')
  const printed: unknown[] = []
  const names = {
    verifyReceipt: (given: Parameters<typeof integrator.verifyReceipt>[0]) =>
      integrator.verifyReceipt({ ...given, issuer: PUBLIC_ORIGIN }),
    receipt: body.receipt as string,
    jwks: JSON.parse(text) as integrator.ReceiptKeySet,
    tenantId: h.shop.tenant.id,
    sessionId: session.id,
    console: { log: (...values: unknown[]) => printed.push(...values) },
  }
  await runSample(sample('docs/guides/receipts.md', 'verifyReceipt({'), names)
  assert.deepEqual(printed[0], context)
  const line = sample('packages/integrator/README.md', 'verifyReceipt({')
  const verdict = await runSample(line, names, 'verdict.decision')
  assert.equal(verdict, 'accept')
  const other = { ...names, tenantId: 'ten_other' }
  await assert.rejects(runSample(sample('docs/guides/receipts.md', 'verifyReceipt({'), other), {
    message: 'tenant_mismatch',
  })
})

test('the receiver of webhooks.md accepts a signed delivery, and rejects another', async () => {
  const receive = (await runSample(
    sample('docs/guides/webhooks.md', 'verifyWebhook'),
    { verifyWebhook: integrator.verifyWebhook },
    'receive',
  )) as (request: Request, secret: contract.Secret) => Promise<Response>
  const secret = new contract.Secret(`whsec_${Buffer.alloc(24, 1).toString('base64')}`)
  const headers = await integrator.signWebhook(
    { id: 'evt_1', sentAtMs: Date.now(), body: '{}' },
    secret,
  )
  const statusOf = async (body: string) =>
    (await receive(new Request('https://a.example', { method: 'POST', headers, body }), secret))
      .status
  assert.deepEqual([await statusOf('{}'), await statusOf('{"a":1}')], [204, 400])
})

test('the loop of the integrator’s README.md runs the promises of a pending store', async () => {
  const runs = new Map<string, () => Promise<void>>()
  await runSample(sample('packages/integrator/README.md', 'pendingStoreSuite('), {
    pendingStoreSuite,
    myStore: () => integrator.memoryPendingStore(),
    emptyDatabase: () => {},
    test: (name: string, run: () => Promise<void>) => runs.set(name, run),
  })
  assert.ok(runs.size > 3)
  for (const run of runs.values()) await run()
})

for (const path of ['docs/guides/stop-relays.md', 'docs/guides/put-it-on-your-site.md'])
  test(`the page of ${path} submits a bonded session`, async () => {
    const submitted: unknown[] = []
    const outcome = { state: 'bonded', sessionId: 'sess_1', browserSecret: 'bbs_1' }
    const names = {
      Pulse: { requireBond: async () => outcome },
      submitWith: (...values: unknown[]) => submitted.push(values),
    }
    await runSample(sample(path, 'submitWith('), names)
    await runSample(sample(path, 'submitWith('), {
      ...names,
      Pulse: { requireBond: async () => ({ ...outcome, state: 'killed' }) },
    })
    assert.deepEqual(submitted, [['sess_1', 'bbs_1']])
  })

test('the command of install.md prints a root key', () => {
  const { code = '' } = sample('docs/guides/operate/install.md', 'openssl rand') ?? {}
  assert.match(execFileSync('bash', ['-euc', code], { encoding: 'utf8' }), /^k1:[\w-]{43}\n$/)
})
