import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { WebSocket } from 'ws'
import { machine } from '../harness/process.ts'

const TENANT = [
  'tenant',
  'create',
  '--name',
  'A',
  '--environment',
  'sandbox',
  '--origin',
  'https://a.example',
  '--workflow',
  'w:a',
]
/**
 * Within this a process manager sees it end, whatever its clients do. The usual ones kill after 10
 * s.
 */
const ENDS_WITHIN_MS = 8_000

test('closes channels with 1012 on SIGTERM and exits with 0 in time, even if a watcher is gone', {
  timeout: 120_000,
}, async () => {
  using m = machine()
  const { server_credential } = m.json(...TENANT)
  await using service = await m.serve()
  const headers = {
    authorization: `Bearer ${server_credential}`,
    'content-type': 'application/json',
  }
  const created = await fetch(`${service.origin}/api/v1/sessions`, {
    method: 'POST',
    headers,
    body: '{}',
  })
  const session = (await created.json()) as CreatedSession

  const watcher = new WebSocket(`${service.origin.replace('http', 'ws')}/sessions/${session.id}`, [
    'bonded.v1',
    `watch.${session.watch_token}`,
  ])
  await once(watcher, 'message')
  const closed = once(watcher, 'close') as Promise<[number]>
  const silent = connect(Number(new URL(service.origin).port), '127.0.0.1')
  silent.on('error', () => {})
  silent.write(
    `GET /sessions/${session.id} HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
      `Sec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\nSec-WebSocket-Protocol: bonded.v1, watch.${session.watch_token}\r\n\r\n`,
  )
  await once(silent, 'data')
  const poll = fetch(`${service.origin}/api/v1/sessions/${session.id}?wait_ms=25000`, {
    headers,
  }).then(
    ({ status }) => status,
    () => 'cut',
  )

  const stoppedAt = Date.now()
  assert.equal(await service.stop('SIGTERM'), 0)
  assert.ok(Date.now() - stoppedAt < ENDS_WITHIN_MS, `${Date.now() - stoppedAt} ms`)
  assert.equal((await closed)[0], 1012)
  assert.ok([200, 'cut'].includes(await poll))
  silent.destroy()
  assert.equal(
    m.json('session', 'show', session.id).state,
    'pending',
    'an end of the service is no end of a session',
  )
})
