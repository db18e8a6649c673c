import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { newKey } from '../../../../tests/harness/phone.ts'
import { CREATE_TENANT, machine, until } from '../../../../tests/harness/process.ts'

const WITHIN_MS = 60_000

/** The commands of docs/guides/operate/personal-data.md. */
test('exports and erases a user beside a running service, whose page and phone notice it', async () => {
  using m = machine()
  await using serving = await m.serve()
  const tenant = m.json(...CREATE_TENANT)
  const call = async (path: string, { token, body }: { token?: string; body?: object } = {}) => {
    const reply = await fetch(`${serving.origin}/api/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        connection: 'close',
        ...(body && { 'content-type': 'application/json' }),
        ...(token && { authorization: `Bearer ${token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: reply.status, body: (await reply.json()) as Record<string, string> }
  }
  const { challenge } = (await call('/devices/challenges', { body: {} })).body
  const key = { challenge, format: 'software', public_key: newKey().public_key }
  const phone = (await call('/devices', { body: key })).body as Record<
    'device_id' | 'device_token' | 'subject_id' | 'key_id',
    string
  >
  const context = { display: [{ label: 'Applicant', value: 'Klara Vogelsang' }] }
  const token = tenant.server_credential
  const created = (await call('/sessions', { token, body: { context } }))
    .body as unknown as CreatedSession
  const claimed = await call(`/sessions/${created.id}/claim`, {
    token: phone.device_token,
    body: { nonce: created.nonce, device_id: phone.device_id },
  })
  assert.equal(claimed.status, 200)

  const copy = m.json('subject', 'export', phone.subject_id)
  assert.equal(copy.device[0].key_id, phone.key_id)
  assert.deepEqual(copy.session[0].context, context)
  assert.match(copy.session[0].created_at, /^\d{4}-\d\d-\d\dT.*Z$/)
  assert.equal(copy.device[0].token_hash, undefined)

  assert.equal(m.run('subject', 'erase', phone.subject_id).status, 2, 'it needs a reason')
  const erased = m.json('subject', 'erase', phone.subject_id, '--reason', 'request 4711')
  assert.deepEqual([erased.whole_subject, erased.devices, erased.ended_sessions], [true, 1, 1])
  const ended = await until(async () => {
    const { body } = await call(`/sessions/${created.id}`, { token })
    return body.state === 'killed' ? body : undefined
  }, WITHIN_MS)
  assert.deepEqual([ended.ended_reason, ended.context], ['killed_by_operator', null])
  const device = `/devices/${phone.device_id}`
  assert.equal((await call(device, { token: phone.device_token })).status, 401)

  assert.deepEqual(m.json('vacuum'), { vacuumed: true })
  for (const command of [['export'], ['erase', '--reason', 'again']])
    assert.equal(m.run('subject', ...command, phone.subject_id).status, 3)
})
