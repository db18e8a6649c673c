import { hash } from 'node:crypto'
import type { PassportSignal } from '@bonded/contract'
import type { SimulatedPassport } from '@bonded/simulator'

const CHALLENGE_PREFIX = 'bond-aa/v1'
const CHALLENGE_BYTES = 8

/** The part of a passport that a phone sends for this nonce (protocol 7). */
export function passportSignal(
  { sod, dg1, dg14, dg15, chip }: SimulatedPassport,
  nonce: string,
): PassportSignal {
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')
  const challenge = hash('sha256', CHALLENGE_PREFIX + nonce, 'buffer').subarray(0, CHALLENGE_BYTES)
  return {
    sod: text(sod),
    dg1: text(dg1),
    ...(dg14 && { dg14: text(dg14) }),
    ...(dg15 && { dg15: text(dg15) }),
    ...(chip && { active_authentication: text(chip.response(challenge)) }),
  }
}
