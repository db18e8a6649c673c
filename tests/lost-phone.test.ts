import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import type { CreatedSession, FullSession, RejectionList, SubjectDevices } from '@bonded/contract'
import { CREATE_TENANT, machine } from './harness/process.ts'
import { freePorts } from './npm-start.ts'
import { walkGuide } from './samples/guide.ts'
import { Terminal } from './samples/terminal.ts'

const ROOT = resolve(import.meta.dirname, '..')

test('the commands of the guide block a stolen phone, by the reference and a credential alone', {
  timeout: 240_000,
}, async () => {
  const [port] = await freePorts()
  const origin = `http://localhost:${port}`
  const address = { BONDED_PORT: String(port), BONDED_PUBLIC_ORIGIN: origin }
  using m = machine({ env: address })
  await using service = await m.serve()
  const tenant = m.json(...CREATE_TENANT)
  const call = async (path: string, init: RequestInit = {}) => {
    const headers = {
      authorization: `Bearer ${tenant.server_credential}`,
      'content-type': 'application/json',
      connection: 'close',
    }
    return (await fetch(`${service.origin}/api/v1${path}`, { ...init, headers })).json()
  }
  const create = async () =>
    (await call('/sessions', { method: 'POST', body: '{}' })) as CreatedSession
  const approve = async () => {
    const { id, universal_link } = await create()
    m.run('phone', 'approve', '--qr', universal_link, '--no-wait')
    return (await call(`/sessions/${id}`)) as FullSession
  }
  const { subject_ref } = await approve()
  assert.ok(subject_ref)

  const env = { ...process.env, ...address, BONDED_DATA_DIR: m.folder }
  const values = {
    'https://bond.example': origin,
    'sk_beta_…': tenant.server_credential,
    'subject_ref_…': subject_ref,
    'ten_…': tenant.tenant_id,
  }
  const guide = { path: 'docs/guides/lost-phone.md', test: import.meta.filename, values }
  await walkGuide(guide, async (next) => {
    await using terminal = new Terminal({ folder: ROOT, env })
    const type = () => terminal.type(next())
    await type()
    const listed = JSON.parse(await type()) as SubjectDevices
    assert.deepEqual([listed.blocked_at, listed.devices.length], [null, 1])
    const blocked = JSON.parse(await type()) as SubjectDevices
    assert.ok(blocked.blocked_at)
    assert.equal((await approve()).state, 'pending')
    const { rejections } = JSON.parse(await type()) as RejectionList
    assert.equal(rejections[0]?.step, 'subject_blocked_by_tenant')
    assert.equal((JSON.parse(await type()) as SubjectDevices).blocked_at, null)
    assert.equal((await approve()).state, 'bonded')
    const shown = new RegExp(`^sub_.*dev_.*${tenant.tenant_id}  +${subject_ref}`, 's')
    assert.match(await type(), shown)
    assert.match(await type(), /device_not_usable +subject_blocked_by_tenant/)
    assert.match(await type(), /blocked by the operator since.*not blocked/s)
  })
})
