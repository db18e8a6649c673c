import { readTlv, unlessMalformed } from '../asn1/tlv.ts'
import { readEnumerated, readInteger, readOctets, readSequence } from '../asn1/values.ts'
import { type AuthorizationList, readAuthorizationList } from './authorization-list.ts'

/** The extension that describes a key of the Android keystore. */
export const KEY_DESCRIPTION = '1.3.6.1.4.1.11129.2.1.17'

/** Attester of a key: 0 software, 1 trusted execution environment, 2 separate chip (StrongBox). */
export const SECURITY_LEVEL = { software: 0n, trustedEnvironment: 1n, strongBox: 2n } as const

/** What a phone states about a key that it attests. */
export interface KeyDescription {
  readonly attestationVersion: bigint
  readonly attestationSecurityLevel: bigint
  readonly keyMintVersion: bigint
  readonly keyMintSecurityLevel: bigint
  readonly attestationChallenge: Uint8Array
  readonly uniqueId: Uint8Array
  readonly softwareEnforced: AuthorizationList
  readonly hardwareEnforced: AuthorizationList
}

/** Keymaster 2 to 4.1, KeyMint 1 to 5. */
const KNOWN_VERSIONS: ReadonlySet<bigint> = new Set([1n, 2n, 3n, 4n, 100n, 200n, 300n, 400n, 500n])

/**
 * Reads the value of the extension. Undefined unless it is a known version in strict DER.
 *
 * @example
 * import { KEY_DESCRIPTION, readKeyDescription } from '@bonded/attestation/android'
 * import { androidKeySample as sample } from '@bonded/attestation/samples'
 * import { readCertificate } from '@bonded/attestation/x509'
 *
 * const leaf = readCertificate(sample.chain[0])
 * const description = readKeyDescription(leaf.extensions.get(KEY_DESCRIPTION).value)
 * console.log(Number(description.attestationVersion)) // 300
 */
export function readKeyDescription(value: Uint8Array): KeyDescription | undefined {
  return unlessMalformed(() => {
    const [
      version,
      level,
      keyMintVersion,
      keyMintLevel,
      challenge,
      uniqueId,
      software,
      hardware,
      ...rest
    ] = readSequence(readTlv(value))
    const attestationVersion = readInteger(version)
    if (rest.length > 0 || !KNOWN_VERSIONS.has(attestationVersion)) return undefined
    return {
      attestationVersion,
      attestationSecurityLevel: readEnumerated(level),
      keyMintVersion: readInteger(keyMintVersion),
      keyMintSecurityLevel: readEnumerated(keyMintLevel),
      attestationChallenge: readOctets(challenge),
      uniqueId: readOctets(uniqueId),
      softwareEnforced: readAuthorizationList(software),
      hardwareEnforced: readAuthorizationList(hardware),
    }
  })
}
