import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGate, GateError, type GatePolicy, memoryPendingStore } from '../src/index.ts'
import { BASE_URL, SERVER_CREDENTIAL } from './fake-service.ts'
import { harness, WORKFLOW } from './harness.ts'

const PAGE = 'https://www.bank.example'
const RULE = { origin: PAGE, firstBond: true }
const REQUIRED = { baseUrl: BASE_URL, serverCredential: SERVER_CREDENTIAL }

/** The verdict on a session that a browser of the page has proved. */
async function judgeProved(policy?: GatePolicy) {
  const h = harness(policy && { policy })
  const submit = await h.bonded()
  h.service.bond(submit.session_id, { browser: { origin: PAGE, proved_at: 'now' } })
  return h.gate.verify({ ...submit, browser_secret: 's'.repeat(43) })
}

for (const [name, policy] of Object.entries<GatePolicy | undefined>({
  'no policy': undefined,
  'no rule': { requireBrowser: {} },
  'a rule of another workflow': { requireBrowser: { transfer: RULE } },
  'another spelling of the workflow': { requireBrowser: { Credit_Application: RULE } },
}))
  test(`rejects a session that a browser has proved with ${name}, and names the member`, async () => {
    const verdict = await judgeProved(policy)
    assert.deepEqual(verdict.reasons, ['browser_not_proved'])
    assert.ok(verdict.decision === 'reject')
    assert.equal(verdict.error?.code, 'invalid_configuration')
    assert.match(verdict.error?.message ?? '', /policy\.requireBrowser.*credit_application/)
  })

test('accepts a session that a browser has proved with a rule of its workflow', async () => {
  const verdict = await judgeProved({ requireBrowser: { [WORKFLOW.workflow]: RULE } })
  assert.equal(verdict.decision, 'accept')
})

class Policy {
  get requireBrowser() {
    return { transfer: RULE }
  }
}

const WRONG: Readonly<Record<string, readonly [unknown, RegExp]>> = {
  'an unknown policy member': [{ requiresBrowser: { transfer: RULE } }, /policy\.requiresBrowser/],
  'true for requireBrowser': [{ requireBrowser: true }, /policy\.requireBrowser /],
  'null for requireBrowser': [{ requireBrowser: null }, /policy\.requireBrowser /],
  'a list for requireBrowser': [{ requireBrowser: ['transfer'] }, /policy\.requireBrowser /],
  'true for a rule': [{ requireBrowser: { transfer: true } }, /requireBrowser\.transfer /],
  'an unknown member of a rule': [
    { requireBrowser: { transfer: { ...RULE, firstbond: true } } },
    /requireBrowser\.transfer\.firstbond/,
  ],
  'a rule without an origin': [{ requireBrowser: { transfer: {} } }, /requireBrowser\.transfer/],
  'an origin that ends a directive of a policy': [
    { requireBrowser: { transfer: { origin: 'https://a;sandbox' } } },
    /requireBrowser\.transfer/,
  ],
  'an origin of two hosts': [
    { requireBrowser: { transfer: { origin: 'https://a,b' } } },
    /requireBrowser\.transfer/,
  ],
  'an origin with a path': [
    { requireBrowser: { transfer: { origin: `${PAGE}/` } } },
    /requireBrowser\.transfer/,
  ],
  'a text for firstBond': [
    { requireBrowser: { transfer: { origin: PAGE, firstBond: 'no' } } },
    /requireBrowser\.transfer\.firstBond/,
  ],
  'a misspelled passport setting': [{ passport: { transfer: 'require' } }, /passport\.transfer/],
  'a text for passport': [{ passport: 'required' }, /policy\.passport /],
  'an empty tenant id': [{ tenant_id: '' }, /policy\.tenant_id/],
  'members that are inherited': [Object.create({ requireBrowser: { transfer: RULE } }), /policy /],
  'members of a class': [new Policy(), /policy /],
  'inherited rules': [{ requireBrowser: Object.create({ transfer: RULE }) }, /requireBrowser /],
  'a policy that is true': [true, /policy /],
}

for (const [name, [policy, message]] of Object.entries(WRONG))
  test(`createGate rejects ${name}, and names the member`, () => {
    assert.throws(
      () => createGate({ ...REQUIRED, store: memoryPendingStore(), policy: policy as GatePolicy }),
      (error) =>
        error instanceof GateError &&
        error.code === 'invalid_configuration' &&
        message.test(error.message),
    )
  })

test('createGate rejects an option that it does not know, and names it', () => {
  const options = { ...REQUIRED, store: memoryPendingStore(), requireBrowser: { transfer: RULE } }
  assert.throws(() => createGate(options), {
    code: 'invalid_configuration',
    message: /requireBrowser/,
  })
})

test('a policy that changes after createGate does not change the gate', async () => {
  const requireBrowser: Record<string, typeof RULE> = { [WORKFLOW.workflow]: RULE }
  const h = harness({ policy: { requireBrowser } })
  delete requireBrowser[WORKFLOW.workflow]
  assert.deepEqual((await h.gate.verify(await h.bonded())).reasons, ['browser_not_proved'])
})
