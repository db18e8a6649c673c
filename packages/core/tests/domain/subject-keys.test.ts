import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeviceId } from '@bonded/contract'
import { randomFor } from '../../../../tests/random.ts'
import { ADDED_PHONE_WAIT_MS } from '../../src/domain/lifetimes.ts'
import type { Device } from '../../src/domain/session.ts'
import {
  hasOlderPhone,
  isNewlyAdded,
  isUsable,
  mayAddPhone,
  mayApprove,
  mayManageKeys,
  removedWith,
  tokenTimes,
} from '../../src/domain/subject-keys.ts'
import { CREATED_AT, deviceWith, OTHER_DEVICE_ID } from '../records.ts'

const STATUSES: readonly Device['status'][] = ['active', 'suspect', 'blocked', 'removed']

test('a token is renewed in the middle of its lifetime, and never after its end', () => {
  assert.deepEqual(tokenTimes(1_000, 600), { renewAt: 1_300, expiresAt: 1_600 })
  for (const ttlMs of [1, 2, 3, 999]) {
    const { renewAt, expiresAt } = tokenTimes(1_000, ttlMs)
    assert.ok(Number.isInteger(renewAt) && renewAt < expiresAt)
  }
})

test('a key approves keys as strong as itself or weaker, and none that is stronger', () => {
  const attested = { attested: true, backupEligible: false }
  const strengths: readonly Partial<Device>[][] = [
    [
      { environment: 'sandbox', format: 'software' },
      { environment: 'sandbox', format: 'webauthn', webauthn: attested },
      { environment: 'sandbox', format: 'android-key' },
    ],
    [
      { format: 'webauthn' },
      { format: 'webauthn', webauthn: { attested: false, backupEligible: true } },
    ],
    [
      { format: 'android-key' },
      { format: 'apple-app-attest' },
      { format: 'webauthn', webauthn: attested },
    ],
  ]
  for (const [strength, approvers] of strengths.entries())
    for (const [other, keys] of strengths.entries())
      for (const approver of approvers)
        for (const key of keys)
          assert.equal(
            mayApprove(deviceWith(approver), deviceWith(key)),
            strength >= other,
            `${JSON.stringify(approver)} approves ${JSON.stringify(key)}`,
          )
})

test('an active or suspect device may act, unless its subject is blocked', () => {
  const usable = (subjectBlocked?: boolean) =>
    STATUSES.filter((status) => isUsable({ status, subjectBlocked }))
  assert.deepEqual(usable(), ['active', 'suspect'])
  assert.deepEqual(usable(false), ['active', 'suspect'])
  assert.deepEqual(usable(true), [])
})

test('only an active device of a subject that is not blocked may manage keys', () => {
  const managing = (subjectBlocked: boolean) =>
    STATUSES.filter((status) => mayManageKeys({ status, subjectBlocked }))
  assert.deepEqual([managing(false), managing(true)], [['active'], []])
})

test('an added phone adds no other one for 72 hours, and the first phone may at once', () => {
  const added = deviceWith({ addedBy: OTHER_DEVICE_ID })
  for (const [after, isNew] of [
    [0, true],
    [ADDED_PHONE_WAIT_MS - 1, true],
    [ADDED_PHONE_WAIT_MS, false],
  ] as const) {
    assert.equal(isNewlyAdded(added, CREATED_AT + after), isNew, `${after} ms`)
    assert.equal(mayAddPhone(added, CREATED_AT + after), !isNew, `${after} ms`)
    for (const addedBy of [null, undefined])
      assert.ok(mayAddPhone(deviceWith({ addedBy }), CREATED_AT + after))
  }
})

const idOf = (index: number) => `dev_${index}` as DeviceId

test('the phones that a phone added when it was new go with it, and all that these added', () => {
  const added = (index: number, by: number, after: number, status: Device['status'] = 'active') =>
    deviceWith({
      id: idOf(index),
      addedBy: by < 0 ? null : idOf(by),
      createdAt: CREATED_AT + after,
      status,
    })
  const family = [
    added(0, -1, -ADDED_PHONE_WAIT_MS),
    added(1, 0, 0),
    added(2, 1, ADDED_PHONE_WAIT_MS - 1),
    added(3, 1, ADDED_PHONE_WAIT_MS),
    // Added by one that goes, however late.
    added(4, 2, 100 * ADDED_PHONE_WAIT_MS),
    added(5, 2, ADDED_PHONE_WAIT_MS, 'removed'),
    added(6, 5, ADDED_PHONE_WAIT_MS, 'blocked'),
  ] as const
  const going = (removed: Device, caller: DeviceId | null) =>
    removedWith(removed, { family, caller })
      .map(({ id }) => id)
      .toSorted()
  assert.deepEqual(going(family[1], null), [idOf(2), idOf(4), idOf(6)])
  assert.deepEqual(going(family[1], idOf(2)), [], 'the caller stays, with those that it added')
  assert.deepEqual(going(family[1], idOf(5)), [idOf(2), idOf(4)])
  assert.deepEqual(going(family[0], null), [], 'the first phone of a subject was never new')
})

test('in any family, exactly the phones that such a chain of approvals reaches go', () => {
  const random = randomFor('families of phones')
  for (let round = 0; round < 100; round++) {
    const family = Array.from({ length: 1 + random(10) }, (_, index) =>
      deviceWith({
        id: idOf(index),
        // Also rows that no service writes: a phone of itself, and a circle.
        addedBy: random(4) === 0 ? null : idOf(random(10)),
        createdAt: CREATED_AT + random(3) * (ADDED_PHONE_WAIT_MS / 2),
        status: STATUSES[random(4)] ?? 'active',
      }),
    )
    const removed = family[random(family.length)] ?? assert.fail()
    const caller = random(2) === 0 ? null : idOf(random(10))
    const stays = ({ id }: Device) => id === removed.id || id === caller
    const reached = new Set<Device>()
    for (let before = -1; before < reached.size; ) {
      before = reached.size
      for (const device of family) {
        const first = device.addedBy === removed.id && isNewlyAdded(removed, device.createdAt)
        const later = [...reached].some(({ id }) => id === device.addedBy)
        if (!stays(device) && (first || later)) reached.add(device)
      }
    }
    const expected = [...reached].filter(({ status }) => status !== 'removed')
    assert.deepEqual(
      removedWith(removed, { family, caller })
        .map(({ id }) => id)
        .toSorted(),
      expected.map(({ id }) => id).toSorted(),
    )
  }
})

test('a phone has an older one while an earlier key, or the one that added it, is active', () => {
  const device = deviceWith({ addedBy: OTHER_DEVICE_ID })
  const has = (members: Partial<Device>) =>
    hasOlderPhone(device, [device, deviceWith({ id: idOf(9), ...members })])
  assert.equal(hasOlderPhone(device, [device]), false)
  assert.equal(has({ createdAt: CREATED_AT - 1 }), true)
  assert.equal(has({ createdAt: CREATED_AT }), false)
  // Both were stored in one millisecond.
  assert.equal(has({ createdAt: CREATED_AT, id: OTHER_DEVICE_ID }), true)
  for (const status of STATUSES.filter((one) => one !== 'active'))
    assert.equal(has({ createdAt: CREATED_AT - 1, id: OTHER_DEVICE_ID, status }), false, status)
})
