import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { CreatedSession, Workflow } from '@bonded/contract'
import { browserProof, newBrowserSecret, newPasskey } from '../harness/browser-proof.ts'
import { type Cluster, startCluster } from '../harness/cluster.ts'
import { attestation, carriedSignals, evidenceRequest, type TestPhone } from '../harness/phone.ts'
import { choose, random } from '../pressure/chance.ts'
import { exchangeWith, NoResponse, type Reply, type Request } from '../pressure/exchange.ts'
import { SHOP_ORIGIN } from '../pressure/running.ts'

/**
 * Both proofs of a session go to random nodes, twice each and at once, and many responses are lost.
 * `PRESSURE_SESSIONS` sets the number of sessions.
 */
const SESSIONS = Number(process.env['PRESSURE_SESSIONS'] ?? 300)
const AT_ONCE = 8
const WORKFLOW: Workflow = { name: 'bound', actions: ['act'], require: ['browser'] }

/** Which proofs a session gets. Without both, it must not bond. */
const PLANS = ['both', 'both', 'both', 'at once', 'phone', 'browser', 'wrong'] as const

test(`of ${SESSIONS} sessions on three nodes those with both proofs bond, and no other`, {
  timeout: 600_000 + SESSIONS * 200,
}, async (t) => {
  await using cluster = await startCluster({
    store: 'postgres',
    nodes: 3,
    envOfAll: { BONDED_RELATED_ORIGINS: 'on', BONDED_DATABASE_POOL_SIZE: '3' },
  })
  const shop = await addTenant(cluster)
  const port = () => Number(new URL(choose(cluster.nodes).origin).port)
  using exchange = exchangeWith(port)
  const patient: Send = (...call) => answered(() => exchange(...call))
  using impatient = exchangeWith(port, { hangsUpAfterSending: true, retries: false })
  const counts = { bonded: 0, unbonded: 0, lost: 0 }
  /** Two copies at random nodes, one of which often loses its response. */
  const twice = async (...call: Parameters<Send>): Promise<Reply> => {
    const copy = choose([patient, impatient])(...call).catch((failure: unknown) => {
      if (!(failure instanceof NoResponse)) throw failure
      counts.lost += 1
    })
    const [reply] = await Promise.all([patient(...call), copy])
    return reply
  }
  const started = performance.now()
  const plans = Array.from(
    { length: SESSIONS },
    (_, index) => PLANS[index % PLANS.length] ?? 'both',
  )
  const bonding = plans.filter((plan) => plan === 'both' || plan === 'at once').length
  const runOneByOne = async () => {
    const page = await newPhone(exchange)
    for (let plan = plans.pop(); plan !== undefined; plan = plans.pop())
      await runSession({ ...page, plan, shop, twice, patient, exchange, counts })
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runOneByOne))
  const seconds = (performance.now() - started) / 1_000
  t.diagnostic(`${JSON.stringify(counts)} in ${Math.round(seconds)} s`)
  assert.deepEqual([counts.bonded, counts.unbonded], [bonding, SESSIONS - bonding])
})

type Send = (method: string, path: string, given?: Request) => Promise<Reply>

/** Calls again where a busy machine did not finish a call in time, as clients do. */
async function answered(send: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await send()
    if (reply.status !== 503) return reply
  }
}

async function newPhone(send: Send) {
  let { authenticator, key } = newPasskey('http://localhost:1')
  // A call that did not finish in time may have registered its key, so the next one has another.
  const registered = await answered(async () => {
    ;({ authenticator, key } = newPasskey('http://localhost:1'))
    const { challenge } = (await answered(() => send('POST', '/devices/challenges'))).body
    const body = { format: 'webauthn', challenge, ...key.register(challenge) }
    return send('POST', '/devices', { body })
  })
  assert.equal(registered.status, 201, registered.text)
  const { device_id, subject_id, device_token, key_id } = registered.body
  const phone = { device_id, subject_id, device_token, key_id, counter: 0, attested: key }
  return { authenticator, phone: phone as unknown as TestPhone }
}

async function runSession({
  authenticator,
  phone,
  plan,
  shop,
  twice,
  patient,
  exchange,
  counts,
}: Awaited<ReturnType<typeof newPhone>> & {
  readonly plan: (typeof PLANS)[number]
  readonly shop: Shop
  readonly twice: Send
  readonly patient: Send
  readonly exchange: Send
  readonly counts: { bonded: number; unbonded: number }
}): Promise<void> {
  const token = phone.device_token
  const body = { workflow: 'bound', action: 'act' }
  const created = await patient('POST', '/sessions', { token: shop.server, body })
  assert.equal(created.status, 201, created.text)
  const session: CreatedSession = created.body
  const path = `/sessions/${session.id}`
  const secret = newBrowserSecret()
  const proof = () =>
    browserProof(authenticator, {
      sessionId: session.id,
      tenantId: shop.tenantId,
      workflow: 'bound',
      action: 'act',
      origin: SHOP_ORIGIN,
      secret,
    })
  const prove = (sent: object, send = twice) =>
    send('POST', `${path}/browser`, {
      token: shop.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
      body: sent,
    })
  const claim = { nonce: session.nonce, device_id: phone.device_id }
  assert.equal((await twice('POST', `${path}/claim`, { token, body: claim })).status, 200)
  const view = (await patient('GET', `${path}?nonce=${session.nonce}`, { token })).body
  const signals = carriedSignals(Date.now(), 5)
  // Signed anew at each attempt, because the service accepts a counter once.
  const evidence = await answered(() => {
    const body = evidenceRequest(phone, view, signals, new Date().toISOString())
    return exchange('POST', '/evidence', { token, body })
  })
  assert.equal(evidence.status, 200, evidence.text)
  const { verified_evidence } = evidence.body
  const signed = attestation(phone, view, verified_evidence, new Date().toISOString())
  const approve = async () => {
    const approved = await twice('POST', '/attestations', { token, body: signed })
    // An approval that comes after both proofs is the same one again.
    assert.equal(approved.status, 200, approved.text)
  }
  // Without a copy that is lost: it could arrive after the approval, and bond with it.
  const early = plan === 'browser' || random(4) === 0 ? await prove(proof(), patient) : undefined
  if (early) assert.equal(early.body.error.reason, 'session_not_live', early.text)
  if (plan === 'at once') {
    // Signed after the approval. It fails if it comes first, and leaves nothing behind.
    const sent = proof()
    const [, first] = await Promise.all([approve(), prove(sent)])
    if (first.status !== 200) assert.equal(first.body.error.reason, 'session_not_live', first.text)
    assert.equal((await prove(sent)).status, 200)
  } else if (plan !== 'browser') {
    await approve()
    if (plan === 'wrong') {
      const wrong = { ...proof(), commitment: 'A'.repeat(43) }
      const rejected = await prove(wrong)
      assert.equal(rejected.body.error.reason, 'browser_proof_invalid', rejected.text)
    }
    if (plan === 'both') {
      const bonded = await prove(proof())
      assert.deepEqual([bonded.status, bonded.body.state], [200, 'bonded'], bonded.text)
    }
  }
  const expected = plan === 'both' || plan === 'at once' ? 'bonded' : 'unbonded'
  const headers = { 'x-bond-browser-secret': secret }
  const last = (await patient('GET', path, { token: shop.server, headers })).body
  assert.equal(last.state === 'bonded', expected === 'bonded', `${plan}: ${last.state}`)
  assert.equal(last.verification?.browser?.origin, expected === 'bonded' ? SHOP_ORIGIN : undefined)
  if (last.step_up !== null)
    assert.deepEqual([last.step_up.required, last.step_up.attempts_left], [['browser'], 3])
  counts[expected] += 1
}

interface Shop {
  readonly tenantId: string
  readonly server: string
  readonly publishable: string
}

async function addTenant({ operator }: Cluster): Promise<Shop> {
  const workflowFile = join(operator.folder, 'workflows.json')
  writeFileSync(workflowFile, JSON.stringify([WORKFLOW]))
  const created = await operator.jsonMeanwhile(
    'tenant',
    'create',
    '--name=Shop',
    '--environment=sandbox',
    `--origin=${SHOP_ORIGIN}`,
    `--workflow-file=${workflowFile}`,
  )
  const { tenant_id: tenantId, server_credential: server, publishable_key: publishable } = created
  return { tenantId, server, publishable }
}
