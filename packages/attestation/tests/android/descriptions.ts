import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  der,
  encodeApplicationId,
  encodeRootOfTrust,
  honestDescription,
  type KeyDescriptionFields,
  SIMULATED_APP,
  type Tags,
} from '@bonded/simulator'
import type { AndroidPolicy } from '../../src/android/policy.ts'
import { AUTHORITY, CHALLENGE, describe, newKey, register, TRUSTED } from './chains.ts'
import { wordOf } from './trust.ts'

export function without(tags: Tags, ...removed: number[]): Tags {
  return Object.fromEntries(Object.entries(tags).filter(([tag]) => !removed.includes(Number(tag))))
}

export const honestTags = honestDescription(CHALLENGE)
const { integer, setOf, octets, sequence, boolean, enumerated } = der
export const digestOfAnother = Buffer.alloc(32, 9)
export const belowZero = der.element(0x02, Buffer.of(0xff))
export const bootOf = (state: number) => [
  octets(Buffer.alloc(32)),
  boolean(true),
  enumerated(state),
  octets(Buffer.alloc(32)),
]
/** A root of trust whose `deviceLocked` is a BOOLEAN of these bytes. */
export const lockedAs = (value: Buffer) => sequence(...bootOf(0).with(1, der.element(0x01, value)))
export const packageOf = (...more: Buffer[]) =>
  sequence(octets(SIMULATED_APP.package), integer(1), ...more)
export const simulatedPackage = packageOf()
export const signer = setOf(octets(SIMULATED_APP.certificateDigest))
export const honestApp = encodeApplicationId(
  [SIMULATED_APP.package],
  [SIMULATED_APP.certificateDigest],
)

/** The boot of a custom operating system whose boot key is configured. */
export const customBoot = (state: number, expected: string): Description => [
  `a configured custom system in boot state ${state}`,
  describe({}, { 704: encodeRootOfTrust({ locked: true, state, bootKey: Buffer.alloc(32, 7) }) }),
  expected,
  { ownerBootKeys: new Set(['07'.repeat(32)]) },
]

/** A description, and the expected result: an environment, or the step that rejects it. */
export type Description = readonly [
  subject: string,
  description: KeyDescriptionFields,
  expected: string,
  policy?: Partial<AndroidPolicy>,
]

/** Declares a test for each description. */
export function testDescriptions(descriptions: readonly Description[]): void {
  for (const [subject, description, expected, policy] of descriptions)
    test(`android-key: returns ${expected} for ${subject}`, async () => {
      const registered = await register(AUTHORITY.attest(newKey().publicKey, description), {
        ...TRUSTED,
        ...policy,
      })
      assert.equal(registered.ok ? registered.value.environment : wordOf(registered), expected)
    })
}
