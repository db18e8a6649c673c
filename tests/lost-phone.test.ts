import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import type { CreatedSession, FullSession, RejectionList, SubjectDevices } from '@bonded/contract'
import { CREATE_TENANT, machine } from './harness/process.ts'
import { freePorts } from './npm-start.ts'

const ROOT = resolve(import.meta.dirname, '..')
const GUIDE = readFileSync(resolve(ROOT, 'docs/guides/lost-phone.md'), 'utf8')
const BLOCKS = [
  ...GUIDE.matchAll(/^<!-- run by tests\/lost-phone\.test\.ts -->\n```sh\n([\s\S]*?)^```/gm),
].map(([, block = '']) => block)

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

  const env = {
    ...process.env,
    ...address,
    BONDED_DATA_DIR: m.folder,
    SERVICE: origin,
    BONDED_SERVER_CREDENTIAL: tenant.server_credential,
    TENANT_ID: tenant.tenant_id,
    SUBJECT_REF: subject_ref,
  }
  /** Types the next block of the guide, and returns what it prints. */
  const blocks = BLOCKS.values()
  const type = async () => {
    const { value = assert.fail('the guide has no further block') } = blocks.next()
    const run = promisify(execFile)('bash', ['-euo', 'pipefail', '-c', value], { cwd: ROOT, env })
    return (await run).stdout
  }
  const listed = JSON.parse(await type()) as SubjectDevices
  assert.deepEqual([listed.blocked_at, listed.devices.length], [null, 1])
  const blocked = JSON.parse(await type()) as SubjectDevices
  assert.ok(blocked.blocked_at)
  assert.equal((await approve()).state, 'pending')
  const { rejections } = JSON.parse(await type()) as RejectionList
  assert.equal(rejections[0]?.step, 'subject_blocked_by_tenant')
  assert.equal((JSON.parse(await type()) as SubjectDevices).blocked_at, null)
  assert.equal((await approve()).state, 'bonded')
  assert.match(await type(), new RegExp(`^sub_.*dev_.*${tenant.tenant_id}  +${subject_ref}`, 's'))
  assert.match(await type(), /device_not_usable +subject_blocked_by_tenant/)
  assert.match(await type(), /blocked by the operator since.*not blocked/s)
  assert.equal(blocks.next().done, true)
})
