import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { deviceRefOf } from '../../src/domain/device-ref.ts'
import { DEVICE_ID, OTHER_DEVICE_ID } from '../records.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64url')
const refOf = (subjectRef: string, deviceId = DEVICE_ID) =>
  deviceRefOf(sha256, { subjectRef, deviceId })

test('a pseudonym stays the same, and differs by device and by the tenant’s name of the user', () => {
  assert.equal(refOf('user-1'), refOf('user-1'))
  const refs = ['user-1', 'user-2'].flatMap((subjectRef) =>
    [DEVICE_ID, OTHER_DEVICE_ID].map((id) => refOf(subjectRef, id)),
  )
  assert.equal(new Set(refs).size, 4)
})

test('no part of one input can pass for a part of the other one', () => {
  const hashed: string[] = []
  const note = (text: string) => {
    hashed.push(text)
    return text
  }
  deviceRefOf(note, { subjectRef: 'user-1', deviceId: DEVICE_ID })
  assert.deepEqual(hashed, [`bonded-device-ref/v1\nuser-1\n${DEVICE_ID}`])
  assert.notEqual(refOf(`user-1\n${DEVICE_ID}`), refOf('user-1'))
})

test('the recorded pseudonym of a device does not change with a version', () => {
  assert.equal(
    deviceRefOf(sha256, { subjectRef: 'user-1', deviceId: 'dev_a' as typeof DEVICE_ID }),
    'zTF4tuhOesjhfpgwsSls1TkC81n09Jkbdzepy278--U',
  )
})
