import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { CREATE_TENANT, machine, until } from '../../../../tests/harness/process.ts'
import { smallDisk } from '../../../../tests/harness/small-disk.ts'

const disk = smallDisk()
/** Far more than fit into the free space of existing files on a full disk. */
const MAX_CALLS = 5_000

test('responds with 503 on a full disk, loses no session, and recovers once there is space', {
  skip: disk === undefined && 'no right to mount a small disk, and /dev/shm is large',
  timeout: 120_000,
}, async () => {
  assert.ok(disk)
  using _ = disk
  using m = machine({ folder: disk.folder })
  const { server_credential: token } = m.json(...CREATE_TENANT)
  const acknowledged: string[] = []
  {
    await using service = await m.serve()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const create = () =>
      fetch(`${service.origin}/api/v1/sessions`, { method: 'POST', headers, body: '{}' })
    const createdBy = async (reply: Response) =>
      acknowledged.push(((await reply.json()) as CreatedSession).id)
    // A disk of this size is never ready: it has too little space for the write-ahead log.
    const cannotWrite = async () => {
      const reply = await fetch(`${service.origin}/health/ready`)
      const { error } = (await reply.json()) as { error?: { unready: string[] } }
      assert.equal(reply.status, error === undefined ? 200 : 503)
      return error?.unready.includes('store_unwritable') === true
    }
    await createdBy(await create())
    assert.equal(await cannotWrite(), false)

    disk.fill()
    let rejected: Response | undefined
    for (let call = 0; call < MAX_CALLS && rejected === undefined; call++) {
      const reply = await create()
      if (reply.status === 201) await createdBy(reply)
      else rejected = reply
    }
    assert.ok(rejected, 'the disk was full')
    assert.deepEqual([rejected.status, rejected.headers.get('retry-after')], [503, '1'])
    const { error } = (await rejected.json()) as { error: { code: string; reason: string } }
    assert.deepEqual([error.code, error.reason], ['unavailable', 'store_unavailable'])
    assert.equal(await cannotWrite(), true)
    const alive = [`/api/v1/sessions/${acknowledged[0]}`, '/health/alive'].map((path) =>
      fetch(service.origin + path, { headers }),
    )
    assert.deepEqual(
      (await Promise.all(alive)).map(({ status }) => status),
      [200, 200],
      'calls that need no space are still answered',
    )
    assert.match(service.output(), /the store refused to write: the disk is full/)

    const command = m.run(...CREATE_TENANT, '--allow-similar-name')
    assert.equal(command.status, 1)
    assert.match(command.stderr, /The disk that holds .* is full.*Free some space/)

    disk.makeRoom()
    await until(async () => ((await cannotWrite()) ? undefined : true), 5_000)
    const after = await create()
    assert.equal(after.status, 201)
    await createdBy(after)
    await service.stop('SIGKILL')
  }
  await using again = await m.serve()
  for (const id of acknowledged) {
    const read = await fetch(`${again.origin}/api/v1/sessions/${id}`, {
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(read.status, 200, `${id} was acknowledged`)
  }
})
