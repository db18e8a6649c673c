import { childrenOf, type Tlv, Malformed, readTlv, TAG } from '../asn1/tlv.ts'
import {
  onlyOf,
  readEnumerated,
  readInteger,
  readLenientBoolean,
  readNull,
  readOctets,
  readSequence,
  readSetOf,
} from '../asn1/values.ts'

/** How the phone booted. */
export interface RootOfTrust {
  readonly verifiedBootKey: Uint8Array
  readonly deviceLocked: boolean
  /** 0 verified, 1 self-signed (a key of the owner), 2 unverified, 3 failed. */
  readonly verifiedBootState: bigint
  /** Exists from attestation version 3 on. */
  readonly verifiedBootHash: Uint8Array | undefined
}

/** The app that created the key, as the operating system states it. */
export interface AttestationApplicationId {
  readonly packages: readonly { readonly name: string; readonly version: bigint }[]
  /** SHA-256 of the certificates that signed the app. */
  readonly signatures: readonly Uint8Array[]
}

const integer = readInteger
const octets = readOctets
const flag = readNull
const integers = (tlv: Tlv): readonly bigint[] => readSetOf(tlv).map((one) => readInteger(one))

/**
 * The known tags with their types: attestation versions 1 to 4 (Keymaster) and 100 to 500
 * (KeyMint). Other tags are rejected: they might restrict the key in an unknown way.
 */
const TAGS = {
  1: { name: 'purposes', read: integers },
  2: { name: 'algorithms', read: integer },
  3: { name: 'keySize', read: integer },
  4: { name: 'blockModes', read: integers },
  5: { name: 'digests', read: integers },
  6: { name: 'paddings', read: integers },
  7: { name: 'callerNonce', read: flag },
  8: { name: 'minMacLength', read: integer },
  10: { name: 'ecCurve', read: integer },
  11: { name: 'mlDsaVariant', read: integer },
  200: { name: 'rsaPublicExponent', read: integer },
  203: { name: 'rsaOaepMgfDigests', read: integers },
  303: { name: 'rollbackResistance', read: flag },
  305: { name: 'earlyBootOnly', read: flag },
  400: { name: 'activeDateTime', read: integer },
  401: { name: 'originationExpireDateTime', read: integer },
  402: { name: 'usageExpireDateTime', read: integer },
  405: { name: 'usageCountLimit', read: integer },
  503: { name: 'noAuthRequired', read: flag },
  504: { name: 'userAuthType', read: integer },
  505: { name: 'authTimeout', read: integer },
  506: { name: 'allowWhileOnBody', read: flag },
  507: { name: 'trustedUserPresenceRequired', read: flag },
  508: { name: 'trustedConfirmationRequired', read: flag },
  509: { name: 'unlockedDeviceRequired', read: flag },
  600: { name: 'allApplications', read: flag },
  601: { name: 'applicationId', read: octets },
  701: { name: 'creationDateTime', read: integer },
  702: { name: 'origin', read: integer },
  703: { name: 'rollbackResistant', read: flag },
  704: { name: 'rootOfTrust', read: readRootOfTrust },
  705: { name: 'osVersion', read: integer },
  706: { name: 'osPatchLevel', read: integer },
  709: { name: 'attestationApplicationId', read: readApplicationId },
  710: { name: 'attestationIdBrand', read: octets },
  711: { name: 'attestationIdDevice', read: octets },
  712: { name: 'attestationIdProduct', read: octets },
  713: { name: 'attestationIdSerial', read: octets },
  714: { name: 'attestationIdImei', read: octets },
  715: { name: 'attestationIdMeid', read: octets },
  716: { name: 'attestationIdManufacturer', read: octets },
  717: { name: 'attestationIdModel', read: octets },
  718: { name: 'vendorPatchLevel', read: integer },
  719: { name: 'bootPatchLevel', read: integer },
  720: { name: 'deviceUniqueAttestation', read: flag },
  723: { name: 'attestationIdSecondImei', read: octets },
  724: { name: 'moduleHash', read: octets },
} as const

type Tag = (typeof TAGS)[keyof typeof TAGS]
const BY_TAG = new Map(
  Object.entries(TAGS).map(([number, tag]): [number, Tag] => [TAG.context(Number(number)), tag]),
)

/** The properties of a key. Only those that the list contains are present. */
export type AuthorizationList = {
  readonly [Name in Tag['name']]?: ReturnType<Extract<Tag, { name: Name }>['read']>
}

/**
 * Reads a list. Tags must be known and ascending, so that no tag occurs twice.
 *
 * @throws {Malformed}
 */
export function readAuthorizationList(list: Tlv | undefined): AuthorizationList {
  const read: Record<string, unknown> = {}
  let last = 0
  for (const tlv of readSequence(list)) {
    const known = BY_TAG.get(tlv.tag)
    if (known === undefined) throw new Malformed('unknown tag')
    if (tlv.tag <= last) throw new Malformed('tags do not ascend')
    last = tlv.tag
    read[known.name] = known.read(onlyOf(childrenOf(tlv, tlv.tag)))
  }
  return read
}

function readRootOfTrust(tlv: Tlv): RootOfTrust {
  const [bootKey, locked, state, bootHash, ...rest] = readSequence(tlv)
  if (rest.length > 0) throw new Malformed('root of trust')
  return {
    verifiedBootKey: readOctets(bootKey),
    deviceLocked: readLenientBoolean(locked),
    verifiedBootState: readEnumerated(state),
    verifiedBootHash: bootHash === undefined ? undefined : readOctets(bootHash),
  }
}

/** Reads the OCTET STRING of nested DER that the operating system, not the hardware, writes. */
function readApplicationId(tlv: Tlv): AttestationApplicationId {
  const [packages, signatures, ...rest] = readSequence(readTlv(readOctets(tlv)))
  if (rest.length > 0) throw new Malformed('application id')
  return {
    packages: readSetOf(packages).map((one) => {
      const [name, version, ...more] = readSequence(one)
      if (more.length > 0) throw new Malformed('package')
      return { name: Buffer.from(readOctets(name)).toString('utf8'), version: readInteger(version) }
    }),
    signatures: readSetOf(signatures).map((one) => readOctets(one)),
  }
}
