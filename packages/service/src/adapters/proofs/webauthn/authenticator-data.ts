import { readHeader } from '../authenticator-header.ts'
import { decodeCbor } from '../cbor/strict-cbor.ts'

/** What the authenticator says at an assertion. */
export interface AuthenticatorData {
  readonly rpIdHash: Buffer
  readonly userPresent: boolean
  readonly userVerified: boolean
  readonly backupEligible: boolean
  readonly backedUp: boolean
  readonly counter: number
}

/** The bits of the flags byte. */
export const FLAG = {
  userPresent: 0x01,
  userVerified: 0x04,
  backupEligible: 0x08,
  backedUp: 0x10,
  credential: 0x40,
  extensions: 0x80,
} as const

/** Reads the authenticator data of an assertion. Undefined where flags and length do not agree. */
export function readAuthenticatorData(bytes: Uint8Array): AuthenticatorData | undefined {
  const header = readHeader(bytes)
  if (header === undefined) return undefined
  const { appIdHash: rpIdHash, flags, counter, rest } = header
  const has = (flag: number) => (flags & flag) !== 0
  // Only a registration carries a credential; extensions are one map, and nothing follows it.
  if (has(FLAG.credential) || (has(FLAG.extensions) ? !isOneMap(rest) : rest.length > 0))
    return undefined
  return {
    rpIdHash,
    userPresent: has(FLAG.userPresent),
    userVerified: has(FLAG.userVerified),
    backupEligible: has(FLAG.backupEligible),
    backedUp: has(FLAG.backedUp),
    counter,
  }
}

function isOneMap(bytes: Uint8Array): boolean {
  return decodeCbor(bytes) instanceof Map
}
