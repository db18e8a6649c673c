import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, test } from 'node:test'
import { freePort } from '../../../store/tests/servers/free-port.ts'
import { newDatabase } from '../../../store/tests/servers/postgres.ts'
import { machine } from '../../../../tests/harness/process.ts'

const port = String(await freePort())
const m = machine({
  env: {
    BONDED_ROOT_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
    BONDED_DATABASE_URL: await newDatabase(),
    // `doctor` looks at the service through it.
    BONDED_PORT: port,
    BONDED_PUBLIC_ORIGIN: `http://localhost:${port}`,
  },
})
after(() => m[Symbol.dispose]())
const TENANT = ['tenant', 'create', '--name', 'A', '--environment', 'sandbox']
const WHERE = ['--origin', 'https://a.example', '--workflow', 'w:a']

test('commands work on PostgreSQL, and a running node applies a revoked key', async () => {
  const created = m.json(...TENANT, ...WHERE)
  const { server_credential: token } = created
  const [tenant] = m.json('tenant', 'list')
  assert.equal(tenant.name, 'A')
  await using service = await m.serve()
  const create = () =>
    fetch(`${service.origin}/api/v1/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
  const first = await create()
  const { id } = (await first.json()) as { id: string }
  assert.equal(first.status, 201)
  const { ok } = await m.jsonMeanwhile('doctor')
  assert.equal(ok, true, 'the node that has the port is no problem')

  const killed = await m.jsonMeanwhile('session', 'kill', id)
  assert.equal(killed.ended_reason, 'killed_by_operator')
  const keys = await m.jsonMeanwhile('key', 'list', tenant.tenant_id)
  const [, , keyId] = String(token).split('_')
  assert.match(JSON.stringify(keys), new RegExp(String(keyId)))
  await m.jsonMeanwhile('key', 'revoke', String(keyId))
  // Nothing that a node reads is kept in memory, so the next call is rejected.
  assert.equal((await create()).status, 401)
})
