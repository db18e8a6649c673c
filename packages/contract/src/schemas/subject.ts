import { type Static, Type } from './type.ts'
import { DeviceFormat, DeviceRef } from './device.ts'
import { Bytes32, closed, nullable, Timestamp, word } from './primitives.ts'

/** A user's phone, as one tenant knows it. It has no member that two tenants could compare. */
const SubjectDevice = closed({
  device_ref: DeviceRef,
  status: word(['active', 'suspect', 'blocked'], {
    description:
      '`suspect`: its key may have been copied. `blocked`: the operator of the service blocked it, or all phones of the user.',
  }),
  format: DeviceFormat,
  key_attested: Type.Boolean({
    description: 'Whether the hardware or its vendor attests the key.',
  }),
  last_bonded_at: nullable(Timestamp),
})

/** The phones of a user that are not removed, the oldest first. */
export const SubjectDevices = closed({
  subject_ref: Bytes32,
  blocked_at: nullable({
    ...Timestamp,
    description: 'When you blocked the user. Null if you have not.',
  }),
  devices: Type.Array(SubjectDevice),
})
export type SubjectDevices = Static<typeof SubjectDevices>
