import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { harness } from '../../../tests/harness/harness.ts'
import { machine } from '../../../tests/harness/process.ts'
import { freePort } from '../../store/tests/servers/free-port.ts'

interface Key {
  readonly device_id: string
  readonly own: boolean
}

const port = await freePort()
const h = await harness({
  hosting: { port, script: { version: '0.0.0', load: () => Promise.reject(new Error('unused')) } },
})
const [first, second] = [machine(), machine()]
after(async () => {
  await h[Symbol.asyncDispose]()
  for (const m of [first, second]) m[Symbol.dispose]()
})

/** Runs a command of the phone in the folder of a machine. */
const phone = (m: typeof first, ...words: string[]) =>
  m.jsonMeanwhile('phone', ...words, '--origin', `http://127.0.0.1:${port}`)
const keysOf = async (m: typeof first): Promise<Key[]> => phone(m, 'list-keys')

test('adds the key of a second phone for the same user, lists both keys, and removes each', async () => {
  const registered = await phone(first, 'register')
  // The list is in order of registration.
  h.clock.advance(1)
  const added = await phone(first, 'add-key', '--new-phone', second.folder)
  assert.deepEqual(
    [added.subject_id, added.approved_by],
    [registered.subject_id, registered.device_id],
  )
  const ids = [registered.device_id, added.device_id]
  const owned = (keys: readonly Key[]) => keys.map(({ device_id, own }) => [device_id, own])
  assert.deepEqual(owned(await keysOf(first)), [
    [ids[0], true],
    [ids[1], false],
  ])
  assert.deepEqual(owned(await keysOf(second)), [
    [ids[0], false],
    [ids[1], true],
  ])

  // An added phone serves a user whom the tenant names.
  const unnamed = await h.create()
  await phone(first, 'approve', '--no-wait', '--qr', unnamed.qr_payload)
  const { subject_ref } = (await h.get(unnamed)).body
  const named = await h.create({ workflow: 'credit_application', subject_ref })
  await phone(second, 'approve', '--no-wait', '--qr', named.qr_payload)
  assert.equal((await h.get(named)).body.state, 'bonded')

  const removed = await phone(first, 'remove-key', added.device_id)
  assert.deepEqual(removed, { device_id: added.device_id, status: 'removed', own: false })
  assert.deepEqual(owned(await keysOf(first)), [[ids[0], true]])
  assert.equal((await phone(first, 'remove-key', registered.device_id)).own, true)
  assert.notEqual((await phone(first, 'register')).subject_id, registered.subject_id)
})

test('explains why a second phone cannot be added, and that a key was removed', async () => {
  using registered = machine()
  using removed = machine()
  await phone(registered, 'register')
  const { device_id } = await phone(first, 'add-key', '--new-phone', removed.folder)
  await phone(first, 'remove-key', device_id)
  const addTo = (folder: string) => () => phone(first, 'add-key', '--new-phone', folder)
  for (const [failing, code, message] of [
    [addTo(first.folder), 'invalid', /data folder of its own/],
    [addTo(registered.folder), 'refused', /registered already.*--new-phone/],
    [() => keysOf(removed), 'refused', /does not know the key of this phone.*phone\.json/],
  ] as const) {
    const { error } = await failing().catch(({ stderr }: { stderr: string }) => JSON.parse(stderr))
    assert.equal(error.code, code)
    assert.match(error.message, message)
  }
})
