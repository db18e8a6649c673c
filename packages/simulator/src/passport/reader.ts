import { encodeBase64url } from '@bonded/contract'
import type { ReadPassport } from '@bonded/phone'
import type { SimulatedPassport } from './document.ts'

/** Returns a reader that reads this passport. */
export function passportReader({ sod, dg1, dg14, dg15, chip }: SimulatedPassport): ReadPassport {
  return (challenge) => ({
    sod: encodeBase64url(sod),
    dg1: encodeBase64url(dg1),
    ...(dg14 === undefined ? {} : { dg14: encodeBase64url(dg14) }),
    ...(dg15 === undefined ? {} : { dg15: encodeBase64url(dg15) }),
    ...(chip === undefined
      ? {}
      : { active_authentication: encodeBase64url(chip.response(challenge)) }),
  })
}
