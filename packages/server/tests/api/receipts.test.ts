import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { SessionId } from '@bonded/contract'
import { type ReceiptKeySet, verifyReceipt } from '../../../integrator/src/index.ts'
import { ATTESTED_KEYS, withProductionRoots } from '../../../../tests/harness/attested-phones.ts'
import {
  browserProof,
  newBrowserSecret,
  newPasskey,
} from '../../../../tests/harness/browser-proof.ts'
import {
  type Harness,
  harness,
  PUBLIC_ORIGIN,
  SHOP_ORIGIN,
  type TenantKeys,
} from '../../../../tests/harness/harness.ts'
import { prometheusMeter } from '../../src/adapters/meter/prometheus-meter.ts'
import { testSigner } from '../../../../tests/harness/test-signer.ts'
import { RECEIPT_DELAY_MS, RECEIPT_RETENTION_MS } from '../../../core/src/domain/receipts.ts'
import { purgeSessions } from '../../../core/src/operations/maintenance/purge-sessions.ts'
import { type Signer, SignerError } from '../../../core/src/ports/signer.ts'

const DAY_MS = 24 * 60 * 60_000
const CONTEXT = { display: [{ label: 'Loan', value: '12,500 EUR “Größe”' }] }

const fetchReceipt = (
  h: Harness,
  { id }: { id: string },
  { keys = h.shop, secret }: { keys?: TenantKeys; secret?: string } = {},
) =>
  h.api('GET', `/sessions/${id}/receipt`, {
    token: keys.server,
    ...(secret !== undefined && { headers: { 'x-bond-browser-secret': secret } }),
  })
const reasonOf = async (reply: Promise<{ body: { error?: { reason?: string } } }>) =>
  (await reply).body.error?.reason
const keysOf = async (h: Harness) =>
  JSON.parse((await h.call('GET', '/.well-known/jwks.json')).text) as ReceiptKeySet
const storedState = async (h: Harness, { id }: { id: string }) =>
  (await h.service.store.read((tables) => tables.receipts.find(id as SessionId)))?.state

/** Moves the clock, and lets maintenance run, until the session has a receipt of this state. */
async function untilStored(h: Harness, session: { id: string }, state: string): Promise<void> {
  for (let steps = 0; (await storedState(h, session)) !== state; steps++) {
    assert.ok(steps < 240, `no receipt of ${state}`)
    h.clock.advance(500)
    for (let turns = 0; turns < 20; turns++) await turn()
  }
}
const claimsOf = async (h: Harness, receipt: string) => {
  const verdict = await verifyReceipt({
    receipt,
    jwks: await keysOf(h),
    issuer: PUBLIC_ORIGIN,
    tenantId: h.shop.tenant.id,
  })
  assert.ok(verdict.decision === 'accept', JSON.stringify(verdict))
  return verdict.claims
}

test('returns a receipt of the bond, then one of the completion, each the same every time', async () => {
  await using h = await harness()
  const { session } = await h.reach('bonded', { workflow: 'credit_application', context: CONTEXT })
  const bonded = await fetchReceipt(h, session)
  assert.equal(bonded.status, 200, bonded.text)
  const { state, context, tenant_name, completed_at, bonded_at } = await claimsOf(
    h,
    bonded.body.receipt,
  )
  assert.deepEqual(
    [state, context, tenant_name, completed_at, bonded_at],
    ['bonded', CONTEXT, 'Shop', null, h.now()],
  )
  assert.equal((await fetchReceipt(h, session)).body.receipt, bonded.body.receipt)

  h.clock.advance(1_000)
  await h.complete(session, { 'x-bond-outcome': 'in_review' })
  const completed = await fetchReceipt(h, session)
  const claims = await claimsOf(h, completed.body.receipt)
  assert.deepEqual(
    [claims.state, claims.completed_at, claims.outcome],
    ['completed', h.now(), 'in_review'],
  )
  assert.equal((await fetchReceipt(h, session)).body.receipt, completed.body.receipt)
})

for (const [format, makeKey] of ATTESTED_KEYS)
  test(`${format}: the receipt verifies with the signature of the phone`, async () => {
    await using h = await harness({ attestation: withProductionRoots, environment: 'production' })
    const phone = await h.register(undefined, makeKey())
    const session = await h.create({ workflow: 'credit_application', context: CONTEXT })
    await h.attest(phone, (await h.claim(phone, session)).body)
    await h.complete(session)
    const claims = await claimsOf(h, (await fetchReceipt(h, session)).body.receipt)
    assert.deepEqual(
      [claims.device_format, claims.environment, claims.verification.key_attested],
      [format, 'production', true],
    )
  })

test('makes the receipts that are due without a request, and keeps them after the session', async () => {
  await using h = await harness()
  const { session } = await h.reach('bonded')
  const bondedAt = h.clock.now()
  await untilStored(h, session, 'bonded')
  assert.ok(h.clock.now() >= bondedAt + RECEIPT_DELAY_MS)
  await h.complete(session)
  await untilStored(h, session, 'completed')

  h.clock.advance(DAY_MS)
  await purgeSessions(h.service)
  assert.equal((await h.get(session)).status, 404)
  const { receipt } = (await fetchReceipt(h, session)).body
  assert.equal((await claimsOf(h, receipt)).state, 'completed')
  h.clock.advance(RECEIPT_RETENTION_MS - 2 * DAY_MS)
  await purgeSessions(h.service)
  assert.equal((await fetchReceipt(h, session)).status, 200)
  h.clock.advance(2 * DAY_MS)
  await purgeSessions(h.service)
  assert.equal(await reasonOf(fetchReceipt(h, session)), 'session_not_found')
})

test('the entry of a receipt has 128 random bits, so it cannot be guessed', async () => {
  await using h = await harness()
  const ids = new Set<string>()
  for (let count = 0; count < 3; count++) {
    const { session } = await h.reach('bonded')
    const { jti } = await claimsOf(h, (await fetchReceipt(h, session)).body.receipt)
    assert.equal(Buffer.from(jti, 'base64url').length, 16)
    ids.add(jti)
  }
  assert.equal(ids.size, 3)
})

test('a completion while its bond is signed leaves the receipt of the completion due', async () => {
  let duringSignature = async () => {}
  const honest = testSigner()
  const signer: Signer = {
    ...honest,
    async sign(bytes) {
      await duringSignature()
      return honest.sign(bytes)
    },
  }
  await using h = await harness({ receiptSigner: signer })
  const { session } = await h.reach('bonded')
  duringSignature = async () => {
    duringSignature = async () => {}
    await h.complete(session)
  }
  await untilStored(h, session, 'bonded')
  await untilStored(h, session, 'completed')
})

test('a signer that fails delays receipts, and neither a bond nor a completion', async () => {
  const honest = testSigner()
  let isBroken = true
  const signer: Signer = {
    ...honest,
    sign: async (bytes) => {
      if (isBroken) throw new SignerError('the key service is gone')
      return honest.sign(bytes)
    },
  }
  await using h = await harness({ receiptSigner: signer })
  const { session } = await h.reach('completed')
  const reply = await fetchReceipt(h, session)
  assert.deepEqual([reply.status, reply.body.error.reason], [503, 'signer_unavailable'])
  assert.ok(reply.headers['retry-after'])
  assert.ok(!reply.text.includes('key service'))
  assert.ok(h.lines.some((line) => line.includes('the key service is gone')))
  h.clock.advance(60_000)
  isBroken = false
  await untilStored(h, session, 'completed')
})

test('what was signed reaches the log in time while the signer fails for others', async () => {
  const honest = testSigner()
  let signed = 0
  const signer: Signer = {
    ...honest,
    sign: async (bytes) => {
      const isReceipt = !new TextDecoder().decode(bytes).includes('/receipts/log')
      if (isReceipt && ++signed % 2 === 0) throw new SignerError('the key service is busy')
      return honest.sign(bytes)
    },
  }
  using meter = prometheusMeter({ version: '0.0.0' })
  await using h = await harness({ receiptSigner: signer, meter })
  const logOf = () =>
    h.service.store.read(function* ({ receipts, receiptLog }) {
      return { head: yield* receiptLog.head(), waiting: yield* receipts.unlogged(100) }
    })
  for (let round = 1; round <= 5; round++) {
    for (let count = 0; count < 2; count++) await h.reach('completed')
    h.clock.advance(1_100)
    const isLogged = async () => (await logOf()).head.checkpointSize >= round
    for (let turns = 0; turns < 2_000 && !(await isLogged()); turns++) await turn()
    assert.ok(await isLogged(), `round ${round}`)
    assert.equal((await logOf()).waiting.length, 0)
  }
  assert.match(await meter.read(), /^bonded_failures_total\{cause="signer"\} [1-9]/m)
})

test('makes no receipt of a session that is not bonded, was killed, or lost its phone', async () => {
  await using h = await harness()
  for (const state of ['pending', 'step_up_required', 'killed', 'expired'] as const) {
    const { session } = await h.reach(state)
    assert.equal(await reasonOf(fetchReceipt(h, session)), 'session_not_bonded', state)
  }
  const { session: killed } = await h.reach('bonded')
  await h.kill(killed)
  const { session: withdrawn, phone } = await h.reach('bonded')
  assert.equal((await h.removeKey(phone)).status, 204)
  const { session: bonded } = await h.reach('bonded')
  await untilStored(h, bonded, 'bonded')
  for (const session of [killed, withdrawn]) {
    assert.equal(await storedState(h, session), undefined)
    assert.equal(await reasonOf(fetchReceipt(h, session)), 'session_not_bonded')
  }
})

test('a session that bonded while the service made no receipts says so, and has none', async () => {
  await using h = await harness()
  // A service of the version before, or without the setting, stores no proof with the bond.
  const service = h.service as { receiptSigner?: Signer | undefined }
  const { receiptSigner } = service
  service.receiptSigner = undefined
  const { session } = await h.reach('bonded')
  const { session: completed } = await h.reach('completed')
  service.receiptSigner = receiptSigner
  for (const each of [session, completed]) {
    const reply = await fetchReceipt(h, each)
    assert.deepEqual([reply.status, reply.body.error.reason], [400, 'bonded_without_receipt'])
    assert.equal(await storedState(h, each), undefined)
  }
})

test('another tenant and a key of another scope read no receipt, before and after the purge', async () => {
  await using h = await harness()
  const other = await h.addTenant({ name: 'Other' })
  const scoped = await h.addKeys(h.shop.tenant, [{ workflow: 'wire_transfer', actions: null }])
  const { session } = await h.reach('completed')
  await untilStored(h, session, 'completed')
  for (const isPurged of [false, true]) {
    if (isPurged) {
      h.clock.advance(DAY_MS)
      await purgeSessions(h.service)
    }
    for (const keys of [other, scoped])
      assert.equal(await reasonOf(fetchReceipt(h, session, { keys })), 'session_not_found')
    assert.equal((await fetchReceipt(h, session)).status, 200)
  }
})

test('a workflow that requires the browser gives its receipt only for the secret of that browser', async () => {
  await using h = await harness()
  const workflows = [{ name: 'bound', actions: ['act'], require: ['browser' as const] }]
  const shop = await h.addTenant({ workflows })
  const { authenticator, key } = newPasskey(PUBLIC_ORIGIN)
  const phone = await h.register(undefined, key)
  const session = await h.create({ workflow: 'bound', action: 'act', context: CONTEXT }, shop)
  await h.attest(phone, (await h.claim(phone, session)).body)
  assert.equal(await reasonOf(fetchReceipt(h, session, { keys: shop })), 'session_not_bonded')

  const secret = newBrowserSecret()
  const proved = await h.api('POST', `/sessions/${session.id}/browser`, {
    token: shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
    body: browserProof(authenticator, {
      sessionId: session.id,
      tenantId: shop.tenant.id,
      workflow: 'bound',
      action: 'act',
      origin: SHOP_ORIGIN,
      secret,
    }),
  })
  assert.equal(proved.body.state, 'bonded', proved.text)
  const rejectsOthers = async () => {
    for (const wrong of [undefined, newBrowserSecret()])
      assert.equal(
        await reasonOf(
          fetchReceipt(h, session, { keys: shop, ...(wrong ? { secret: wrong } : {}) }),
        ),
        'browser_secret_mismatch',
      )
  }
  await rejectsOthers()
  const { receipt } = (await fetchReceipt(h, session, { keys: shop, secret })).body
  const verdict = await verifyReceipt({ receipt, jwks: await keysOf(h) })
  assert.ok(verdict.decision === 'accept')
  assert.equal(verdict.claims.verification.browser?.origin, SHOP_ORIGIN)
  h.clock.advance(DAY_MS + 300_000)
  await purgeSessions(h.service)
  await rejectsOthers()
  assert.equal((await fetchReceipt(h, session, { keys: shop, secret })).body.receipt, receipt)
})

test('a service without keys makes no receipts, and publishes none', async () => {
  await using h = await harness({ receiptSigner: 'off' })
  const { session } = await h.reach('completed')
  assert.equal(await reasonOf(fetchReceipt(h, session)), 'receipts_disabled')
  assert.equal((await h.call('GET', '/.well-known/jwks.json')).status, 404)
})
