import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { freePort } from '../../store/tests/servers/free-port.ts'
import { harness } from '../../../tests/harness/harness.ts'
import { INBOX_WORKFLOWS } from '../../../tests/harness/inbox.ts'
import { NO_SCRIPT } from '../../../tests/harness/no-script.ts'
import { machine } from '../../../tests/harness/process.ts'

const port = await freePort()
const h = await harness({
  workflows: INBOX_WORKFLOWS,
  hosting: { port, script: NO_SCRIPT },
})
const m = machine()
after(async () => {
  await h[Symbol.asyncDispose]()
  m[Symbol.dispose]()
})

const origin = `http://127.0.0.1:${port}`
/** Runs a command of the phone. */
const phone = (...words: string[]) => m.jsonMeanwhile('phone', ...words, '--origin', origin)
const errorOf = async (failing: Promise<unknown>) =>
  failing.then(
    () => assert.fail('it did not fail'),
    ({ stderr }: { stderr: string }) => JSON.parse(stderr).error,
  )

test('lists the requests that wait for the user, and approves the one that is named', async () => {
  const unknown = await errorOf(phone('inbox'))
  assert.match(unknown.message, /not registered.*bonded phone approve/)
  assert.ok(unknown.message.includes(origin), unknown.message)
  const first = await h.create({ workflow: 'page' })
  await phone('approve', '--no-wait', '--qr', first.qr_payload)
  const { subject_ref } = (await h.get(first)).body
  h.clock.advance(1)
  assert.deepEqual(await phone('inbox'), [])

  const requester = { kind: 'agent', name: 'Invoice agent' }
  const context = { requester, display: [{ label: 'Pay', value: '€5.00' }], text: '{"cents": 500}' }
  const ask = () => h.create({ workflow: 'agent', subject_ref, context })
  const [asked, other] = [await ask(), await ask()]
  const listed = (await phone('inbox')) as readonly { session_id: string }[]
  assert.deepEqual(
    new Set(listed.map(({ session_id }) => session_id)),
    new Set([asked.id, other.id]),
  )
  assert.deepEqual(Object.keys(listed[0] ?? {}), [
    'session_id',
    'tenant_name',
    'requester',
    'created_at',
  ])
  const { shown, state } = await phone('inbox', '--no-wait', '--approve', asked.id)
  assert.deepEqual([shown.context.requester, state], [requester, 'bonded'])
  assert.equal((await h.get(asked)).body.state, 'bonded')
  assert.equal((await h.get(other)).body.state, 'pending')
  assert.equal((await errorOf(phone('inbox', '--approve', asked.id))).code, 'not_found')
})
