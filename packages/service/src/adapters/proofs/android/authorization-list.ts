import { childrenOf, type Element, Malformed, readElement, TAG } from '../der/element.ts'
import {
  onlyOf,
  readEnumerated,
  readInteger,
  readLenientBoolean,
  readNull,
  readOctets,
  readSequence,
  readSetOf,
} from '../der/values.ts'

/** How the phone was started. */
export interface RootOfTrust {
  readonly verifiedBootKey: Uint8Array
  readonly deviceLocked: boolean
  /** 0 verified, 1 by a key of the owner's, 2 unverified, 3 failed. */
  readonly verifiedBootState: bigint
  /** From attestation version 3 on. */
  readonly verifiedBootHash: Uint8Array | undefined
}

/** The app that asked for the key, in the words of the operating system. */
export interface AttestationApplicationId {
  readonly packages: readonly { readonly name: string; readonly version: bigint }[]
  /** SHA-256 of the certificates that signed the app. */
  readonly signatures: readonly Uint8Array[]
}

const integer = readInteger
const octets = readOctets
const flag = readNull
const integers = (element: Element): readonly bigint[] =>
  readSetOf(element).map((one) => readInteger(one))

/**
 * Every tag that a list may hold, with its type: attestation versions 1 to 4 (Keymaster) and 100 to 500 (KeyMint).
 * A tag that is not here is refused: it might restrict the key in a way nobody here knows of.
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
/** What a list says of a key: only what stands in it is there. */
export type AuthorizationList = {
  readonly [Name in Tag['name']]?: ReturnType<Extract<Tag, { name: Name }>['read']>
}

/**
 * Reads a list. Tags must be known and ascend, so that no tag stands twice and no two readers see two lists.
 *
 * @throws {Malformed}
 */
export function readAuthorizationList(list: Element | undefined): AuthorizationList {
  const read: Record<string, unknown> = {}
  let last = 0
  for (const element of readSequence(list)) {
    const known = BY_TAG.get(element.tag)
    if (known === undefined) throw new Malformed('unknown tag')
    if (element.tag <= last) throw new Malformed('tags do not ascend')
    last = element.tag
    read[known.name] = known.read(onlyOf(childrenOf(element, element.tag)))
  }
  return read
}

function readRootOfTrust(element: Element): RootOfTrust {
  const [bootKey, locked, state, bootHash, ...rest] = readSequence(element)
  if (rest.length > 0) throw new Malformed('root of trust')
  return {
    verifiedBootKey: readOctets(bootKey),
    deviceLocked: readLenientBoolean(locked),
    verifiedBootState: readEnumerated(state),
    verifiedBootHash: bootHash === undefined ? undefined : readOctets(bootHash),
  }
}

/** An OCTET STRING that holds DER of its own: the operating system writes it, not the secure hardware. */
function readApplicationId(element: Element): AttestationApplicationId {
  const [packages, signatures, ...rest] = readSequence(readElement(readOctets(element)))
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
