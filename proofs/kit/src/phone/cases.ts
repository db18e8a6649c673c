import assert from 'node:assert/strict'
import { type Cases, type Result, type Run, runCases } from '../cases.ts'
import { command, tryCommand } from '../control.ts'
import { idOf, type Members } from '../encoding.ts'
import { type CallName, rejection, type Reply, type Scenario, ServiceDouble } from './double.ts'

/** A phone under test, and the service that it talks to. */
interface Stage {
  readonly double: ServiceDouble
  readonly adapter: string
}

const CONTEXT = {
  display: [
    { label: 'Amount', value: '€12,500.00' },
    { label: 'Empfänger', value: 'Müller & Söhne “KG” \\ 😀' },
  ],
  digest: 'uyIw1jr1qO_MPRXVCfjUlxvj39hwMqK1Pncr8MA9GQw',
}
const LONG = {
  requester: { kind: 'agent', name: 'Invoice agent', detail: 'run 7' },
  text: '{\n  "größe": "12,500 €"\n}',
}
const RULE = { id: idOf('quo', 'quorum'), needed: 2, of: 3 }
const OF_QUORUM = { ...CONTEXT, quorum: RULE }

/** Opens a session. Returns what the phone shows, or undefined if it has stopped. */
async function open(
  { double, adapter }: Stage,
  scenario: Scenario = {},
  form: 'universal_link' | 'qr_payload' = 'universal_link',
): Promise<Members | undefined> {
  const { shown } = await command(adapter, 'open', { text: double.begin(scenario)[form] })
  return shown as Members | undefined
}

/** Opens and approves a session that the phone must bond. */
async function approve(stage: Stage, scenario: Scenario = {}): Promise<Members> {
  const shown = await open(stage, scenario)
  assert.ok(shown, 'the phone shows no request')
  const { state } = await command(stage.adapter, 'approve')
  assert.deepEqual(stage.double.checker.faults, [])
  assert.equal(state, 'bonded', 'the phone reports the state bonded after its approval')
  return shown
}

/** Opens a session that the phone must not bond, and approves it if the phone shows it. */
const refuses =
  (scenario: Scenario, most = 0): Run<Stage> =>
  async (stage) => {
    const shown = await open(stage, { context: CONTEXT, ...scenario })
    if (shown) await command(stage.adapter, 'approve')
    const { length } = stage.double.sent('attest')
    assert.ok(length <= most, `the phone sends ${length} assertions, at most ${most} expected`)
  }

/** Gives the view after a step-up other members than the user saw. The phone must not sign it. */
const swaps = (members: Members, context = CONTEXT): Run<Stage> =>
  refuses({ context, stepUp: ['local_auth'], reply: changed('attest', members) }, 1)

/** Opens a session whose view is invalid, which the phone must not show. */
const stops =
  (members: Members): Run<Stage> =>
  async (stage) => {
    const shown = await open(stage, { context: CONTEXT, reply: changed('claim', members) })
    assert.equal(shown, undefined, 'the phone shows the request')
    assert.equal(stage.double.sent('attest').length, 0, 'the phone sends an assertion')
  }

/** A reply whose view has other members. */
const changed =
  (name: CallName, members: Members): NonNullable<Scenario['reply']> =>
  (call, honest) =>
    call.name === name ? { ...honest, body: { ...honest.body, ...members } } : honest

/** The first call of a name gets another reply. */
const first =
  (name: CallName, other: (honest: Reply) => Reply): NonNullable<Scenario['reply']> =>
  (call, honest, times) =>
    call.name === name && times === 1 ? other(honest) : honest

async function declines(stage: Stage, reason: string): Promise<void> {
  assert.ok(await open(stage), 'the phone shows no request')
  await command(stage.adapter, 'decline', { reason })
  assert.deepEqual(stage.double.checker.faults, [])
  const sent = stage.double.sent('decline').map(({ body }) => body['reason'])
  assert.deepEqual(sent, [reason])
  assert.equal(stage.double.sent('attest').length, 0, 'the phone sends an assertion')
}

/** A phone must show the members, say that it does, and sign them. It may also stop. */
const says =
  (members: Members): Run<Stage> =>
  async (stage) => {
    const shown = await open(stage, { context: { ...CONTEXT, ...members } })
    const [claim] = stage.double.sent('claim')
    assert.equal(claim?.body['shows'], undefined, 'the first claim has shows')
    if (shown) await command(stage.adapter, 'approve')
    const [sent] = stage.double.sent('attest')
    assert.equal(sent !== undefined, shown !== undefined, 'the phone signs what it shows')
    assert.deepEqual(stage.double.checker.faults, [])
    for (const [name, value] of shown ? Object.entries(members) : []) {
      assert.deepEqual(shown?.[name], value)
      assert.ok(sent?.body['shows']?.includes(name), `the assertion has not the word ${name}`)
    }
    return shown ? undefined : 'stopped'
  }

/** Gives the phone no keys, and an origin to trust. */
async function renew({ double, adapter }: Stage): Promise<void> {
  await command(adapter, 'reset', { origin: double.origin })
}

const VALID: Cases<Stage> = {
  async '6: a phone registers a new key for a challenge of the service'(stage) {
    await renew(stage)
    await open(stage)
    assert.deepEqual(stage.double.checker.faults, [])
    assert.equal(stage.double.sent('register').length, 1, 'the phone sends one registration')
    assert.equal(stage.double.sent('register')[0]?.body['format'], 'software')
  },
  async '4: a claim names the nonce that was scanned, and has the token of the device'(stage) {
    await open(stage, {}, 'qr_payload')
    assert.deepEqual(stage.double.checker.faults, [])
    assert.equal(stage.double.sent('claim').length, 1, 'the phone sends one claim')
    assert.equal(stage.double.sent('register').length, 0, 'the phone registers again')
  },
  async '4: a phone shows the tenant and every pair of the context'(stage) {
    const shown = await open(stage, { context: CONTEXT })
    assert.equal(shown?.['tenant_name'], 'Example Bank')
    assert.deepEqual(shown?.['display'], CONTEXT.display)
  },
  async '4: a phone sends no assertion before its user approves'(stage) {
    await open(stage)
    assert.equal(stage.double.sent('attest').length, 0, 'the phone sends an assertion')
  },
  '5: the assertion of a session without a context': async (s) => void (await approve(s)),
  '5: the assertion of a session with a context': async (stage) =>
    void (await approve(stage, { context: CONTEXT })),
  async '1: a phone relays evidence with members that it does not know, and hashes all of it'(
    stage,
  ) {
    const more = {
      a_member_of_later: [1e-7, 1e21, -0, null],
      '\ufb33': 1,
      '😀': { z: 1, '\r': '\u2028/' },
    }
    const reply = first('evidence', ({ status, body }) => ({
      status,
      body: { verified_evidence: { ...body['verified_evidence'], ...more } },
    }))
    await approve(stage, { reply })
  },
  '4: a phone that shows a requester and a text says so, claims without it first, and signs both':
    says(LONG),
  '16: a phone that shows the rule of a quorum says so, claims without it first, and signs it':
    says({ quorum: RULE }),
  '16: a phone that shows a rule, a requester and a text says so of all three': says({
    ...LONG,
    quorum: RULE,
  }),
  async '16: a phone takes an approval back with the nonce by which it approved'(stage) {
    const scenario = { context: OF_QUORUM, stepUp: ['sensor_continuity'] }
    if (!(await open(stage, scenario))) return 'stopped'
    await command(stage.adapter, 'approve')
    const { state, stopped } = await command(stage.adapter, 'decline', { reason: 'user_declined' })
    assert.deepEqual(stage.double.checker.faults, [])
    assert.equal(stage.double.sent('decline').length, stopped ? 0 : 1)
    return stopped ? 'stopped' : assert.equal(state, 'killed')
  },
  async '4: after a step-up, a phone answers the step nonce with new evidence'(stage) {
    await approve(stage, { stepUp: ['sensor_continuity'] })
    assert.equal(stage.double.sent('evidence').length, 2, 'the phone requests evidence twice')
  },
  '4: a decline says that the user declined': (stage) => declines(stage, 'user_declined'),
  '4: a decline says that the user did not start the request': (stage) =>
    declines(stage, 'user_unexpected'),
}

const FAILURES: Cases<Stage> = {
  async '5: after a lost response, a phone sends the same bytes of an assertion again'(stage) {
    await approve(stage, { reply: first('attest', (honest) => ({ ...honest, isLost: true })) })
    const sent = stage.double.sent('attest').map(({ text }) => text)
    assert.ok(sent.length > 1, 'the phone does not repeat it')
    assert.equal(new Set(sent).size, 1, 'the phone sends other bytes')
  },
  async '8: after a lost response, a phone signs its evidence again'(stage) {
    await approve(stage, { reply: first('evidence', (honest) => ({ ...honest, isLost: true })) })
    assert.ok(stage.double.sent('evidence').length > 1, 'the phone does not repeat it')
  },
  async '5: after issued_at_out_of_range, a phone signs again with server_time'(stage) {
    const { double } = stage
    const reply = first('attest', () => {
      double.aheadMs += 600_000
      const server_time = double.now()
      double.checker.view = { ...double.checker.view, server_time }
      return rejection('issued_at_out_of_range', { server_time })
    })
    await approve(stage, { reply })
  },
  '8: a phone stops when the service rejects its assertion': refuses(
    { reply: first('attest', () => rejection('session_not_live')) },
    1,
  ),
  '4: a phone stops when another phone holds the session': refuses({
    reply: first('claim', () => rejection('session_claimed')),
  }),
  async '6: a phone renews its token from device_token_renew_at on, signed, and then uses the new one'(
    stage,
  ) {
    stage.double.renewAfterMs = -1_000
    await renew(stage)
    await open(stage)
    stage.double.renewAfterMs = 86_400_000
    await approve(stage)
    await approve(stage)
    const [sent] = stage.double.sent('attest')
    assert.ok(stage.double.checker.isRenewed(sent?.bearer), 'the phone uses an older token')
  },
}

const INVALID: Cases<Stage> = {
  '4: a phone stops at a view of another session': stops({ id: `sess_${'A'.repeat(22)}` }),
  '4: a phone stops at a view whose api_base_url is not its own origin': (stage) =>
    stops({ api_base_url: stage.double.otherOrigin })(stage),
  '4: a phone stops at a pending view with another nonce than the claimed one': stops({
    nonce: 'A'.repeat(43),
  }),
  '4: a phone stops at a state that it does not know': stops({ state: 'approved' }),
  '4: a phone sends no assertion for a session that has ended': refuses({
    reply: changed('claim', { state: 'killed', ended_reason: 'canceled' }),
  }),
  '1: a phone stops at a step-up that it does not know': refuses({ stepUp: ['retina'] }, 1),
  '1: a phone stops at a step-up that it knows beside one that it does not know': refuses(
    { stepUp: ['local_auth', 'retina'] },
    1,
  ),
  '4: a phone stops at a step-up whose api_base_url is not its own origin': (stage) =>
    swaps({ api_base_url: stage.double.otherOrigin })(stage),
  '4: a phone stops at a step-up with another context than its user saw': swaps({
    context: { ...CONTEXT, display: [{ label: 'Amount', value: '€99,000.00' }] },
  }),
  '4: a phone stops at a step-up without the context that its user saw': swaps({ context: null }),
  '4: a phone stops at a step-up of another tenant': swaps({ tenant_id: `ten_${'A'.repeat(22)}` }),
  '4: a phone stops at a step-up with another workflow': swaps({ workflow: 'account_opening' }),
  '4: a phone stops at a step-up with another action': swaps({ action: 'close_account' }),
  '4: a phone stops at a context with a member that it does not know': stops({
    context: { ...CONTEXT, small_print: 'And a fee of €900.00' },
  }),
  '4: a phone stops at a pair of a context with a member that it does not know': stops({
    context: { display: [{ label: 'Fee', value: '€1.00', per: 'day' }] },
  }),
  '16: a phone stops at a rule with a member that it does not know': stops({
    context: { ...CONTEXT, quorum: { ...RULE, veto: true } },
  }),
  '16: a phone stops at a rule that does not say how many must approve': stops({
    context: { ...CONTEXT, quorum: { ...RULE, needed: undefined } },
  }),
  '16: a phone stops at a step-up with another rule than its user saw': swaps(
    { context: { ...CONTEXT, quorum: { ...RULE, needed: 3 } } },
    OF_QUORUM,
  ),
  '16: a phone stops at a step-up without the rule that its user saw': swaps(
    { context: CONTEXT },
    OF_QUORUM,
  ),
  '16: a phone sends no assertion for a quorum that is decided': refuses({
    context: OF_QUORUM,
    reply: changed('claim', { state: 'killed', ended_reason: 'decided' }),
  }),
  async '4: a phone opens no link of another origin'({ double, adapter }) {
    const link = double.begin()['universal_link'].replace(double.origin, double.otherOrigin)
    await tryCommand(adapter, 'open', { text: link })
    assert.deepEqual(double.foreignCalls, [], 'the phone calls the other origin')
    assert.deepEqual(double.sent('claim'), [], 'the phone claims the session at its own origin')
  },
  async '4: a phone opens no QR code with another parameter'({ double, adapter }) {
    await tryCommand(adapter, 'open', { text: `${double.begin()['qr_payload']}&amount=1` })
    assert.deepEqual(double.sent('claim'), [], 'the phone claims the session')
  },
  async '3: a phone sends its token to its own origin only, also after a redirect'(stage) {
    const location = `${stage.double.otherOrigin}/api/v1/attestations`
    const reply = first('attest', () => ({ status: 307, body: {}, headers: { location } }))
    await refuses({ reply }, 9)(stage)
    assert.deepEqual(stage.double.foreignCalls, [], 'the phone calls the other origin')
  },
}

/** Runs every case against the phone behind an adapter. The registration comes first. */
export async function runPhone(adapter: string): Promise<readonly Result[]> {
  await using double = await ServiceDouble.start()
  return await runCases({ ...VALID, ...INVALID, ...FAILURES }, { double, adapter })
}
