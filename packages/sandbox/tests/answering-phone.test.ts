import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createPassport, createPassportAuthority, createPassportChip } from '@bonded/simulator'
import { harness, type TenantKeys } from '../../../tests/harness/harness.ts'
import { NO_SCRIPT } from '../../../tests/harness/no-script.ts'
import { WORKFLOWS } from '../../../tests/harness/tenants.ts'
import { freePorts } from '../../../tests/npm-start.ts'
import {
  ANSWER_AFTER_MS,
  AnsweringPhone,
  answerIn,
  TEST_VALUES,
} from '../src/answer/answering-phone.ts'
import { WANTED } from '../src/trigger/cause-event.ts'

const folder = mkdtempSync(join(tmpdir(), 'bonded-answer-'))
const [port] = await freePorts()
const h = await harness({
  hosting: { port, script: NO_SCRIPT },
  workflows: [
    ...WORKFLOWS,
    { name: 'passport', actions: ['act'], passport: 'required' },
    { name: 'browser', actions: ['act'], require: ['browser'] },
    { name: 'carrier', actions: ['act'], require: ['carrier'] },
  ],
})
after(async () => {
  await h[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})
const failures: string[] = []
const phone = new AnsweringPhone({
  origin: `http://127.0.0.1:${port}`,
  folder,
  isAttested: false,
  passport: createPassport(createPassportAuthority(h.clock.now()), {
    chip: createPassportChip({ kind: 'ecdsa' }),
  }),
  onFailure: (failure, value) => failures.push(`${value}: ${String(failure)}`),
})
phone.watch(h.service)
const answer = async () => {
  h.clock.advance(ANSWER_AFTER_MS)
  await phone.settled()
}
const create = (value: string, more: object = {}, keys: TenantKeys = h.shop) =>
  h.create({ workflow: 'strict', context: { display: [{ label: 'Name', value }] }, ...more }, keys)

/** The state, and the reason or the outcome, that each value leads to. */
const EXPECTED: Readonly<Record<string, readonly [state: string, reason: string | null]>> = {
  test_bonded: ['bonded', null],
  test_bonded_after_step_up: ['bonded', null],
  test_step_up_required: ['step_up_required', null],
  test_passport_required: ['step_up_required', null],
  test_user_declined: ['killed', 'user_declined'],
  test_user_unexpected: ['killed', 'user_unexpected'],
  test_policy_not_met: ['killed', 'policy_not_met'],
  test_too_many_attempts: ['killed', 'too_many_attempts'],
  test_killed_by_operator: ['killed', 'killed_by_operator'],
  test_device_blocked: ['bonded', null],
  test_device_key_added: ['bonded', null],
}

test('the table has every value', () => {
  assert.deepEqual(TEST_VALUES.toSorted(), Object.keys(EXPECTED).toSorted())
})

for (const [value, expected] of Object.entries(EXPECTED))
  test(`answers ${value} by real calls`, async () => {
    const workflow = value === 'test_passport_required' ? 'passport' : 'strict'
    const session = await create(value, { workflow })
    await answer()
    assert.deepEqual(failures, [])
    const { state, ended_reason, verification } = (await h.get(session)).body
    assert.deepEqual([state, ended_reason], expected)
    // The bond of a blocked phone no longer passes the gate.
    if (state === 'bonded') assert.equal(verification === null, value === 'test_device_blocked')
  })

test('test_passport_required leaves nothing but the passport open', async () => {
  const session = await create('test_passport_required', { workflow: 'passport' })
  await answer()
  assert.deepEqual((await h.get(session)).body.step_up?.required, ['passport_chip'])
})

test('approves in a workflow that requires the browser, and leaves the proof to the page', async () => {
  const session = await create('test_bonded', { workflow: 'browser' })
  await answer()
  assert.deepEqual(failures, [])
  const { state, hint, step_up } = (await h.get(session)).body
  assert.deepEqual([state, hint, step_up?.required], ['step_up_required', 'browser', ['browser']])
})

test('is the same user each time, so that a session can name the user', async () => {
  const first = await create('test_bonded')
  await answer()
  const { subject_ref } = (await h.get(first)).body
  const named = await create('test_bonded', { workflow: 'named', subject_ref })
  await answer()
  assert.deepEqual((await h.get(named)).body.subject_ref, subject_ref)
  assert.deepEqual(failures, [])
})

test('the guide has each test value and each trigger, in the same row', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides/testing.md'), 'utf8')
  const rows = [...guide.matchAll(/^\| [^|]+ \|([^|]*)\|([^|]*)\|$/gm)].map(
    ([, value = '', trigger = '']) => ({
      value: /`(test_\w+)`/.exec(value)?.[1] ?? '',
      triggers: [...trigger.matchAll(/`([a-z_]+\.[a-z_]+)(?: --reason (\w+))?`/g)].map(
        ([, type = '', reason]) => nameOf({ type, reason }),
      ),
    }),
  )
  const values = new Set(rows.flatMap(({ value }) => (value === '' ? [] : [value])))
  assert.deepEqual([...values].toSorted(), TEST_VALUES.toSorted())
  const triggers = rows.flatMap((row) => row.triggers)
  assert.deepEqual(triggers.toSorted(), WANTED.map(nameOf).toSorted())
  // The reason of a value is that of its trigger.
  for (const row of rows) {
    const reason = EXPECTED[row.value]?.[1] ?? undefined
    if (reason !== undefined) assert.ok(row.triggers.includes(`session.killed ${reason}`))
  }
})

function nameOf({ type, reason }: { type: string; reason?: string | undefined }): string {
  return reason === undefined ? type : `${type} ${reason}`
}

test('finds a value as a word, the first one of several, and no other word', () => {
  const inValue = (...values: string[]) =>
    answerIn({ context: { display: values.map((value) => ({ label: 'Text', value })) } })
  assert.equal(inValue('Ada', 'Ms test_user_declined, Berlin'), 'user_declined')
  assert.equal(inValue('test_bonded@example.com'), 'bonded')
  assert.equal(inValue('test_bonded test_user_declined'), 'bonded')
  for (const value of [
    'test',
    'test_',
    'test_other',
    'latest_bonded',
    'test_bonded2',
    'TEST_BONDED',
  ])
    assert.equal(inValue(value), undefined, value)
  assert.equal(inValue('test_constructor', 'test_to_string'), undefined)
  assert.equal(answerIn({ context: null }), undefined)
})

test('answers more sessions than it answers at once, and none that has ended', async () => {
  const sessions = []
  for (let count = 0; count < 20; count++) sessions.push(await create('test_user_declined'))
  const [killed, ...others] = sessions as [Awaited<ReturnType<typeof create>>]
  await h.kill(killed)
  await answer()
  assert.deepEqual(failures, [])
  const reasons = await Promise.all(
    others.map(async (session) => (await h.get(session)).body.ended_reason),
  )
  assert.deepEqual(new Set(reasons), new Set(['user_declined']))
  assert.equal((await h.get(killed)).body.ended_reason, 'killed_by_tenant')
})

test('ignores a session without a value, and every session of a production tenant', async () => {
  const live = await h.addTenant({ environment: 'production', name: 'Live' })
  const sessions = [await create('Ada Lovelace'), await create('test_bonded', {}, live)] as const
  await answer()
  assert.equal((await h.get(sessions[0])).body.state, 'pending')
  assert.equal((await h.get(sessions[1], live)).body.state, 'pending')
})

test('reports an answer that the policy does not permit, and goes on', async () => {
  const never = 'a'.repeat(43)
  await create('test_bonded', { workflow: 'named', subject_ref: never })
  await create('test_bonded')
  await answer()
  assert.equal(failures.length, 1)
  assert.match(failures[0] ?? '', /^test_bonded: /)
})

/** Values without effect in a workflow, and what a developer reads. The session stays pending. */
const WITHOUT_EFFECT: readonly [value: string, workflow: string, text: RegExp][] = [
  ...[
    'test_policy_not_met',
    'test_step_up_required',
    'test_bonded_after_step_up',
    'test_passport_required',
  ].flatMap((value): [string, string, RegExp][] => [
    [value, 'credit_application', /would approve it\. Use a workflow that requires/],
    [value, 'browser', /approve it\. Use a workflow that requires/],
  ]),
  ['test_passport_required', 'strict', /requires the passport/],
  ['test_approved', 'strict', /no such test value/],
]
for (const [value, workflow, text] of WITHOUT_EFFECT)
  test(`says why ${value} has no effect in ${workflow}, and does not answer`, async () => {
    failures.length = 0
    const action = workflow === 'credit_application' ? 'submit_application' : 'act'
    const session = await create(value, { workflow, action })
    await answer()
    assert.equal(failures.length, 1)
    assert.ok(failures[0]?.startsWith(`${value}: `), failures[0])
    assert.match(String(failures[0]), text)
    assert.equal((await h.get(session)).body.state, 'pending')
  })

test('says what rejected an answer that the simulated phone cannot give', async () => {
  failures.length = 0
  const session = await create('test_bonded', { workflow: 'carrier' })
  await answer()
  assert.equal((await h.get(session)).body.state, 'killed')
  assert.match(failures.join(), /^test_bonded: .*policy_not_met/)
})
