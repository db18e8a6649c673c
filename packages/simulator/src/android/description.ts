import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import {
  boolean,
  enumerated,
  explicit,
  integer,
  nothing,
  octets,
  sequence,
  setOf,
} from '../test-pki/der.ts'

/** The entries of an authorization list: DER values by tag, written in ascending order. */
export type Tags = Readonly<Record<number, Uint8Array>>

/** The key description of a simulated phone. */
export interface KeyDescriptionFields {
  readonly challenge: Uint8Array
  readonly attestationVersion: number
  /** 0 software, 1 trusted environment, 2 StrongBox. */
  readonly securityLevel: number
  readonly keyMintSecurityLevel: number
  readonly softwareEnforced: Tags
  readonly hardwareEnforced: Tags
}

/** The app that creates the key. */
export interface SimulatedApp {
  readonly package: string
  /** SHA-256 of its signing certificate. */
  readonly certificateDigest: Uint8Array
}

/**
 * The app of the simulated Android phone. Its digest is the hash of a text, so no real app has it.
 */
export const SIMULATED_APP: SimulatedApp = {
  package: 'org.bonded.simulated',
  certificateDigest: createHash('sha256').update('the app of the simulated phone').digest(),
}

/** The app id in its assertions (protocol 5). */
export function androidAppId(app: SimulatedApp): string {
  return `${app.package}:${Buffer.from(app.certificateDigest).toString('hex')}`
}

/** Encodes the value of the key description extension. */
export function encodeKeyDescription(fields: KeyDescriptionFields): Buffer {
  return sequence(
    integer(fields.attestationVersion),
    enumerated(fields.securityLevel),
    integer(fields.attestationVersion),
    enumerated(fields.keyMintSecurityLevel),
    octets(fields.challenge),
    octets(Buffer.alloc(0)),
    encodeTags(fields.softwareEnforced),
    encodeTags(fields.hardwareEnforced),
  )
}

function encodeTags(tags: Tags): Buffer {
  // Keys of an object that are whole numbers ascend by themselves.
  return sequence(...Object.entries(tags).map(([tag, value]) => explicit(Number(tag), value)))
}

/**
 * The description of a new key on a genuine phone: KeyMint 3, trusted execution environment, locked
 * and verified boot.
 */
export function honestDescription(
  challenge: Uint8Array,
  app: SimulatedApp = SIMULATED_APP,
): KeyDescriptionFields {
  return {
    challenge,
    attestationVersion: 300,
    securityLevel: 1,
    keyMintSecurityLevel: 1,
    softwareEnforced: {
      701: integer(1_790_000_000_000),
      709: octets(encodeApplicationId([app.package], [app.certificateDigest])),
    },
    hardwareEnforced: {
      1: setOf(integer(2)),
      2: integer(3),
      3: integer(256),
      5: setOf(integer(4)),
      10: integer(1),
      503: nothing(),
      702: integer(0),
      704: encodeRootOfTrust({ locked: true, state: 0 }),
      705: integer(160_000),
      706: integer(202_610),
    },
  }
}

export function encodeRootOfTrust({
  locked,
  state,
  bootKey = Buffer.alloc(32, 7),
}: {
  locked: boolean
  state: number
  bootKey?: Uint8Array
}): Buffer {
  return sequence(octets(bootKey), boolean(locked), enumerated(state), octets(Buffer.alloc(32, 8)))
}

export function encodeApplicationId(
  packages: readonly string[],
  digests: readonly Uint8Array[],
): Buffer {
  return sequence(
    setOf(...packages.map((name) => sequence(octets(name), integer(1)))),
    setOf(...digests.map((digest) => octets(digest))),
  )
}
