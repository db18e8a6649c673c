import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PhoneSession, TimelineEntry } from '@bonded/contract'
import { DEVICE_MOVES } from '../../../../core/src/domain/device-moves.ts'
import { moveDevice } from '../../../../core/src/operations/admin/devices.ts'
import { asTestRoots, ATTESTED_KEYS } from '../../../../../tests/harness/attested-phones.ts'
import { type Harness, harness, WORKFLOWS } from '../../../../../tests/harness/harness.ts'
import {
  attestation,
  carriedSignals,
  evidenceRequest,
  type TestPhone,
} from '../../../../../tests/harness/phone.ts'
import { randomFor } from '../../../../../tests/random.ts'

const workflows = [
  ...WORKFLOWS,
  { name: 'lenient', actions: ['act'], suspect_devices: 'allow' as const },
]
const setUp = () => harness({ attestation: asTestRoots, workflows })
const FORMATS = [...ATTESTED_KEYS, ['software', () => undefined]] as const

const statusOf = async (h: Harness, phone: TestPhone): Promise<string> =>
  (await h.api('GET', `/devices/${phone.device_id}`, { token: phone.device_token })).body.status
const notesOf = async (h: Harness, session: { id: string }): Promise<(string | null)[][]> =>
  (await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })).body.entries
    .filter(({ kind }: TimelineEntry) => kind === 'refused' || kind === 'note')
    .map(({ kind, reason, step }: TimelineEntry) => [kind, reason, step])

for (const [format, makeKey] of FORMATS) {
  test(`${format}: marks the device suspect when a copied key uses an old counter`, async () => {
    await using h = await setUp()
    const phone = await h.register(undefined, makeKey())
    const copy = { ...phone }
    const bonded = await h.create()
    assert.equal((await h.attest(phone, (await h.claim(phone, bonded)).body)).body.state, 'bonded')

    h.clock.advance(1_000)
    const session = await h.create()
    const view = (await h.claim(copy, session)).body
    const rejected = await h.attest(copy, view)
    assert.equal(rejected.body.error.reason, 'assertion_invalid', rejected.text)
    assert.equal(await statusOf(h, phone), 'suspect')
    assert.deepEqual(await notesOf(h, session), [
      ['refused', 'assertion_invalid', 'counter'],
      ['note', 'device_suspect', 'counter'],
    ])
    // Whichever of the two comes next: they are indistinguishable, so neither serves where suspects
    // are rejected.
    assert.equal((await h.claim(phone, await h.create())).body.error.reason, 'device_not_usable')
    const lenient = await h.create({ workflow: 'lenient' })
    assert.equal((await h.attest(phone, (await h.claim(phone, lenient)).body)).body.state, 'bonded')
    assert.equal(await statusOf(h, phone), 'suspect')
  })

  test(`${format}: rejects late and repeated assertions without blaming the phone`, async () => {
    await using h = await setUp()
    const phone = await h.register(undefined, makeKey())
    const session = await h.create()
    const view: PhoneSession = (await h.claim(phone, session)).body
    const send = (body: object) =>
      h.api('POST', '/attestations', { token: phone.device_token, body })
    const { verified_evidence: evidence } = (await h.evidence(phone, view)).body
    // Signed, and lost on the way; signed anew a second later.
    const lost = attestation(phone, view, evidence, h.now())
    h.clock.advance(1_000)
    const anew = attestation(phone, view, evidence, h.now())
    assert.equal((await send(anew)).body.state, 'bonded')
    assert.equal((await send(lost)).status, 400)
    // The response was lost: the same bytes again return the session.
    for (const body of [anew, anew]) assert.equal((await send(body)).body.state, 'bonded')
    assert.equal(await statusOf(h, phone), 'active')
  })
}

test('whatever order a phone’s requests arrive in, and however often, its device stays active', async () => {
  const below = randomFor('orders of arrival')
  await using h = await setUp()
  for (let history = 0; history < 20; history++) {
    const phone = await h.register(undefined, ATTESTED_KEYS[history % 2]?.[1]())
    const session = await h.create()
    const view: PhoneSession = (await h.claim(phone, session)).body
    const signed = Array.from({ length: 5 }, () => {
      h.clock.advance(below(3) * 400)
      return evidenceRequest(phone, view, carriedSignals(h.clock.now()), h.now())
    })
    for (let arrival = 0; arrival < 10; arrival++) {
      await h.api('POST', '/evidence', {
        token: phone.device_token,
        body: signed[below(signed.length)],
      })
      assert.equal(await statusOf(h, phone), 'active', `history ${history}`)
    }
  }
})

test('does not take a retry for a clone when another session’s clock is behind', async () => {
  await using h = await setUp()
  const phone = await h.register()
  const view: PhoneSession = (await h.claim(phone, await h.create())).body
  const issuedAt = (aheadMs: number) => new Date(h.clock.now() + aheadMs).toISOString()
  const send = (body: object) => h.api('POST', '/evidence', { token: phone.device_token, body })
  const first = evidenceRequest(phone, view, carriedSignals(h.clock.now()), issuedAt(0))
  const behind = evidenceRequest(phone, view, carriedSignals(h.clock.now()), issuedAt(-2_000))
  assert.equal((await send(first)).status, 200)
  assert.equal((await send(behind)).status, 200)
  assert.equal((await send(first)).status, 400)
  assert.equal(await statusOf(h, phone), 'active')
})

test('rejects a blocked device at every call, key changes included, and does not know a removed one', async () => {
  await using h = await setUp()
  const phone = await h.register()
  await h.service.store.write((tables) =>
    tables.devices.move(phone.device_id as never, DEVICE_MOVES.block),
  )
  const session = await h.create()
  assert.equal((await h.claim(phone, session)).body.error.reason, 'device_not_usable')
  assert.deepEqual(await notesOf(h, session), [['refused', 'device_not_usable', 'device_blocked']])
  assert.equal(await statusOf(h, phone), 'blocked')
  await assert.rejects(h.register(phone), /device_not_usable/)
  assert.equal((await h.removeKey(phone)).body.error.reason, 'device_not_usable')
  await moveDevice(h.service, phone.device_id as never, 'remove')
  const gone = await h.api('GET', `/devices/${phone.device_id}`, { token: phone.device_token })
  assert.equal(gone.body.error.reason, 'credential_invalid')
})

/** What became of a device, and by whom. */
const eventsOf = async (h: Harness, phone: TestPhone) =>
  (await h.service.store.read((tables) => tables.devices.events(phone.device_id as never))).map(
    ({ seq, kind, step }) => [seq, kind, step],
  )
const reasonsOf = async (h: Harness, session: { id: string }) =>
  (await notesOf(h, session)).map(([, reason]) => reason)

test('records every change of a device as an event, and in the timeline of each session pinned to it', async () => {
  await using h = await setUp()
  const phone = await h.register()
  const copy = { ...phone }
  const [held, found, other] = [await h.create(), await h.create(), await h.create()]
  await h.claim(await h.register(), other)
  const view = (await h.claim(phone, held)).body
  assert.equal((await h.evidence(phone, view)).status, 200)
  await h.register(phone)
  h.clock.advance(1_000)
  // The copy tries a session that no phone has claimed.
  const unheld = {
    ...found,
    tenant_name: '',
    requesting_origin: null,
    created_at: found.server_time,
  }
  assert.equal((await h.evidence(copy, unheld)).body.error.reason, 'assertion_invalid')
  for (const verb of ['block', 'unblock'] as const)
    await moveDevice(h.service, phone.device_id as never, verb)
  assert.equal((await h.removeKey(phone)).status, 204)

  assert.deepEqual(await eventsOf(h, phone), [
    [1, 'registered', null],
    [2, 'key_added', 'phone'],
    [3, 'suspect', 'counter'],
    [4, 'blocked', 'operator'],
    [5, 'unblocked', 'operator'],
    [6, 'removed', 'phone'],
  ])
  assert.deepEqual(await reasonsOf(h, held), [
    'device_key_added',
    'device_suspect',
    'device_blocked',
    'device_unblocked',
    'device_removed',
  ])
  assert.deepEqual(await reasonsOf(h, found), ['assertion_invalid', 'device_suspect'])
  assert.deepEqual(await reasonsOf(h, other), [])
})

test('rejects every device transition that its table does not have', async () => {
  await using h = await setUp()
  const STATES = {
    active: [],
    suspect: ['suspect'],
    blocked: ['block'],
    removed: ['remove'],
  } as const
  const TABLE: Readonly<Record<string, readonly string[]>> = {
    suspect: ['active'],
    block: ['active', 'suspect'],
    unblock: ['suspect', 'blocked'],
    remove: ['active', 'suspect', 'blocked'],
  }
  const move = (phone: TestPhone, name: keyof typeof DEVICE_MOVES) =>
    h.service.store.write((tables) =>
      tables.devices.move(phone.device_id as never, DEVICE_MOVES[name]),
    )
  for (const [state, way] of Object.entries(STATES)) {
    for (const name of Object.keys(DEVICE_MOVES) as (keyof typeof DEVICE_MOVES)[]) {
      const phone = await h.register()
      for (const step of way) await move(phone, step)
      assert.equal(
        await move(phone, name),
        TABLE[name]?.includes(state),
        `${name} of one that is ${state}`,
      )
    }
  }
})

test('serves a blocked or suspect device again after the operator unblocks it', async () => {
  await using h = await setUp()
  const phone = await h.register()
  for (const name of ['block', 'suspect'] as const) {
    await h.service.store.write((tables) =>
      tables.devices.move(phone.device_id as never, DEVICE_MOVES[name]),
    )
    assert.equal((await h.claim(phone, await h.create())).body.error.reason, 'device_not_usable')
    await moveDevice(h.service, phone.device_id as never, 'unblock')
    const session = await h.create()
    assert.equal((await h.attest(phone, (await h.claim(phone, session)).body)).body.state, 'bonded')
  }
  await assert.rejects(
    moveDevice(h.service, phone.device_id as never, 'unblock'),
    /is already active/,
  )
  await moveDevice(h.service, phone.device_id as never, 'remove')
  await assert.rejects(
    moveDevice(h.service, phone.device_id as never, 'unblock'),
    /is already removed/,
  )
})

test('stores the latest 200 events of a device', async () => {
  await using h = await setUp()
  const phone = await h.register()
  await h.service.store.write(function* (tables) {
    for (let index = 1; index <= 250; index++)
      yield* tables.devices.record(phone.device_id as never, {
        at: index,
        kind: 'token_offered',
        step: null,
      })
  })
  const events = await eventsOf(h, phone)
  assert.deepEqual([events.length, events[0]?.[0], events.at(-1)?.[0]], [200, 52, 251])
})
