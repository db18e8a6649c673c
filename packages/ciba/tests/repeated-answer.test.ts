import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import * as client from 'openid-client'
import { cibaHarness, DETAILS, GRANT, openidClient } from './harness.ts'

test('only the client and the key of a token get it again', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  await h.approve()
  const { access_token } = await h.poll(auth_req_id)
  const other = await client.randomDPoPKeyPair('ES256')
  const foreign = await openidClient(h.issuer, h.other)
  const imposter = await openidClient(h.issuer, { ...h.other, client_id: h.agent.client_id })
  const changed = JSON.stringify([{ ...DETAILS, amount: '1.00' }])
  const attempts: readonly (readonly [() => Promise<unknown>, string])[] = [
    [() => h.poll(auth_req_id, { by: other }), 'invalid_grant'],
    // The public key of the client, and a signature of another one.
    [
      () => h.poll(auth_req_id, { by: { ...other, publicKey: h.keys.publicKey } }),
      'invalid_dpop_proof',
    ],
    [() => client.genericGrantRequest(h.openid, GRANT, { auth_req_id }), 'invalid_grant'],
    [() => foreign.poll(auth_req_id, { by: h.keys }), 'invalid_grant'],
    [() => imposter.poll(auth_req_id, { by: h.keys }), 'invalid_client'],
    [
      () => h.poll(auth_req_id, { params: { authorization_details: changed } }),
      'invalid_authorization_details',
    ],
  ]
  for (const [attempt, error] of attempts) {
    h.pause(2_000)
    await assert.rejects(attempt(), { error })
  }
  h.pause(2_000)
  assert.equal((await h.poll(auth_req_id)).access_token, access_token)
})

test('the database has neither a token nor what opens its sealed answer', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  await h.approve()
  const tokens = await h.poll(auth_req_id)
  using db = new DatabaseSync(join(h.folder, 'ciba.db'))
  db.exec('pragma wal_checkpoint(truncate)')
  const file = readFileSync(join(h.folder, 'ciba.db'), 'latin1')
  for (const secret of [auth_req_id, tokens.access_token, tokens.id_token, tokens['receipt']])
    assert.equal(file.includes(String(secret)), false)
  const [row] = db.prepare("select payload from oidc where kind = 'Answer'").all()
  assert.match(String(row?.['payload']), /^\{"answer":"[\w-]+"\}$/)
})

test('a token is not issued after the reconciliation has made its approval void', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  const session = await h.approve()
  const { fetch: real } = globalThis
  const { mock } = t.mock.method(globalThis, 'fetch', async (url: string, init: RequestInit) => {
    if (url.endsWith('/receipt')) {
      mock.restore()
      // The process stands still, here for two minutes, and another one reconciles.
      h.pause(120_000)
      await h.running.requests.sweep()
    }
    return real(url, init)
  })
  await assert.rejects(h.poll(auth_req_id))
  h.pause()
  await assert.rejects(h.poll(auth_req_id), { error: 'invalid_grant' })
  const { body } = await h.inbox.h.get({ id: session })
  assert.equal(body.state, 'bonded')
})

test('what a killed process has asked is found by the retry', async (t) => {
  const h = await cibaHarness(t)
  await h.ask({ login_hint: h.inbox.subjectRef })
  const first = await h.id()
  // It was killed before the client got the id of its request.
  using db = new DatabaseSync(join(h.folder, 'ciba.db'))
  db.exec("delete from oidc where kind = 'BackchannelAuthenticationRequest'")
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  assert.equal(await h.id(), first)
  await h.approve()
  assert.ok((await h.poll(auth_req_id)).access_token)
  await h.ask({ login_hint: h.inbox.subjectRef })
  await h.ask({ login_hint: h.inbox.subjectRef })
  assert.equal(await h.waiting(), 2)
})

test('a poll is pending while another one issues the token', async (t) => {
  const h = await cibaHarness(t)
  const { auth_req_id } = await h.ask({ login_hint: h.inbox.subjectRef })
  await h.approve()
  const { fetch: real } = globalThis
  const held = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  t.after(() => held.resolve())
  const { mock } = t.mock.method(globalThis, 'fetch', async (url: string, init: RequestInit) => {
    if (url.endsWith('/receipt')) {
      mock.restore()
      reached.resolve()
      await held.promise
    }
    return real(url, init)
  })
  const first = h.poll(auth_req_id)
  await reached.promise
  h.pause(5_000)
  await assert.rejects(h.poll(auth_req_id), { error: 'authorization_pending' })
  held.resolve()
  const { access_token } = await first
  h.pause(5_000)
  assert.equal((await h.poll(auth_req_id)).access_token, access_token)
})
