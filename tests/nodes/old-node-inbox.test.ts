import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { createSimulatedPhone } from '@bonded/simulator'
import { type ClusterNode, startCluster } from '../harness/cluster.ts'
import { runSql, startPostgres } from '../../packages/store/tests/servers/postgres.ts'
import { machine } from '../harness/process.ts'
import { ORIGIN } from './balancer.ts'
import { addTenant } from './load.ts'
import { skipWithoutHistory, unpackOldBuild } from './old-build.ts'

const KEYS = { BONDED_ROOT_KEYS: `k1:${randomBytes(32).toString('base64url')}` }

test('a node of an older version reads a session of an inbox as not found, and creates none', {
  skip: skipWithoutHistory(),
  timeout: 600_000,
}, async () => {
  await using server = await startPostgres()
  const databaseUrl = await server.newDatabase()
  using old = unpackOldBuild()
  await using cluster = await startCluster({
    store: 'postgres',
    nodes: 1,
    databaseUrl,
    program: old.program,
    envOfAll: KEYS,
  })
  const [older] = cluster.nodes as [ClusterNode]
  const shop = await addTenant(cluster)
  const call = async ({ origin }: ClusterNode, path: string, body?: object) => {
    const response = await fetch(`${origin}/api/v1/sessions${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${shop.server}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const read = (await response.json()) as CreatedSession & {
      state?: string
      subject_ref?: string
      error?: { reason: string }
    }
    return { status: response.status, reason: read.error?.reason, body: read }
  }
  const phone = createSimulatedPhone({
    origin: ORIGIN,
    fetch: (url, { signal: _own, ...request }) =>
      fetch(older.origin + url.slice(ORIGIN.length), request),
  })
  const first = await call(older, '', { workflow: 'w', action: 'a' })
  assert.equal((await phone.run(first.body.qr_payload, 'approve')).state, 'bonded')
  const { subject_ref } = (await call(older, `/${first.body.id}`)).body

  using operator = machine({ env: { BONDED_DATABASE_URL: databaseUrl, ...KEYS } })
  const starting = cluster.addNode()
  await operator.jsonMeanwhile('migrate', 'up')
  const newer = await starting
  const [{ tenant_id }] = (await operator.jsonMeanwhile('tenant', 'list')) as [
    { tenant_id: string },
  ]
  const configure = () =>
    operator.jsonMeanwhile('tenant', 'update', tenant_id, '--add-workflow', 'pay:a:preset=agent')
  await assert.rejects(configure(), /A node of an older version serves/)

  // It stops, counts as ended, and goes on. No session of an inbox can exist beside it otherwise.
  older.pause()
  await runSql(databaseUrl, `update node_message set sent_at = sent_at - interval '11 seconds'`)
  await configure()
  const requester = { kind: 'agent', name: 'Invoice agent' }
  const request = {
    workflow: 'pay',
    subject_ref,
    context: { requester, display: [{ label: 'Invoice', value: '7' }] },
  }
  const created = await call(newer, '', request)
  assert.equal(created.status, 201, created.reason)
  older.resume()

  const read = await call(older, `/${created.body.id}`)
  assert.deepEqual([read.status, read.reason], [404, 'session_not_found'])
  assert.equal((await phone.run(created.body.qr_payload, 'approve')).state, undefined)
  const unknown = await call(older, '', { workflow: 'pay', subject_ref })
  assert.deepEqual([unknown.status, unknown.reason], [400, 'workflow_unknown'])
  assert.equal((await call(newer, `/${created.body.id}`)).body.state, 'pending')
})
