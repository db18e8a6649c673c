import { accept, type Result, refuse } from '../../../domain/refusal.ts'
import type { AttestationApplicationId, AuthorizationList } from './authorization-list.ts'
import { type KeyDescription, SECURITY_LEVEL } from './key-description.ts'

/** What an operator demands of Android keys. */
export interface AndroidPolicy {
  /** SHA-256 of each trusted root's public key (SPKI, DER), lower-case hex. */
  readonly roots: ReadonlySet<string>
  /** The same for roots whose private keys anybody may hold. Their keys are sandbox devices, whatever they say. */
  readonly testRoots: ReadonlySet<string>
  /** The apps that may hold a key. */
  readonly apps: readonly AndroidApp[]
  /** The oldest security patch taken, as YYYYMM. Null: any. */
  readonly minPatchLevel: number | null
  /** Boot keys (lower-case hex) of operating systems that an owner may install and lock: GrapheneOS and the like. */
  readonly ownerBootKeys: ReadonlySet<string>
  /** How long after unlocking the hardware may still sign; 0 asks for the person each time. Null: not demanded. */
  readonly userAuthenticationWithinSeconds: number | null
}

/** An app, by its package and the SHA-256 (lower-case hex) of the certificates it may be signed with. */
export interface AndroidApp {
  readonly package: string
  readonly certificateDigests: readonly string[]
}

/** Google's two roots: RSA since 2016, under several certificates; and "Key Attestation CA1" on P-384 since 2025. */
export const GOOGLE_ROOTS: ReadonlySet<string> = new Set([
  'feb2ea7551ee316ed4bb443c8293b884dbfdea40b603ee3e4f4a897e4580fbae',
  '3ee44512a1af2beb39c889490c60ea3f82e43f5d5a5532f5ab9419f676cd07ec',
])

// The numbers of Android's Tag.aidl and its neighbours.
const PURPOSE_SIGN = 2n
const PURPOSE_VERIFY = 3n
const ALGORITHM_EC = 3n
const CURVE_P256 = 1n
const DIGEST_SHA256 = 4n
const ORIGIN_GENERATED = 0n
const BOOT_VERIFIED = 0n
const BOOT_SELF_SIGNED = 1n

/**
 * Judges what a phone says of a key against the policy. Every refusal is `attestation_invalid` with the failing `step`.
 *
 * @returns the environment, and the app as assertions name it: `package:certificate digest`
 */
export function judgeKeyDescription(
  description: KeyDescription,
  { challenge, root, policy }: { challenge: Uint8Array; root: string; policy: AndroidPolicy },
): Result<{ environment: 'sandbox' | 'production'; appId: string }> {
  const no = (step: string) => refuse('attestation_invalid', { step })
  const { attestationSecurityLevel: level, softwareEnforced, hardwareEnforced } = description
  // 1. Made for our challenge, now.
  if (Buffer.compare(description.attestationChallenge, challenge) !== 0) return no('challenge')
  // 2. Who vouches for the key also keeps it.
  if (
    level !== description.keyMintSecurityLevel ||
    level < SECURITY_LEVEL.software ||
    level > SECURITY_LEVEL.strongBox
  )
    return no('security_level')
  // 3. What follows is the keeper's word. A phone without secure hardware has software's word only, and stays a sandbox device.
  const key = level === SECURITY_LEVEL.software ? softwareEnforced : hardwareEnforced
  if (key.origin !== ORIGIN_GENERATED) return no('origin')
  if (!signsOnly(key)) return no('purpose')
  if (
    key.algorithms !== ALGORITHM_EC ||
    (key.ecCurve ?? CURVE_P256) !== CURVE_P256 ||
    (key.keySize ?? 256n) !== 256n
  )
    return no('key_algorithm')
  if (key.digests?.includes(DIGEST_SHA256) !== true) return no('digest')
  // 4. One app's key, and the app is one of ours. Only the operating system can tell which app asked.
  if (softwareEnforced.allApplications === true || hardwareEnforced.allApplications === true)
    return no('all_applications')
  const appId = allowedApp(softwareEnforced.attestationApplicationId, policy.apps)
  if (appId === undefined) return no('application_id')
  // 5. Patched lately enough.
  if (policy.minPatchLevel !== null && patchLevelOf(key) < policy.minPatchLevel)
    return no('patch_level')
  // 6. The hardware asks for the person, where that is demanded.
  if (
    policy.userAuthenticationWithinSeconds !== null &&
    !asksForPerson(key, policy.userAuthenticationWithinSeconds)
  )
    return no('user_authentication')
  // 7. Without hardware, or without a verified and locked start, the rest was said by whoever holds the phone.
  const trusted =
    level !== SECURITY_LEVEL.software &&
    startedAsMade(hardwareEnforced, policy) &&
    !policy.testRoots.has(root)
  return accept({ environment: trusted ? 'production' : 'sandbox', appId })
}

/** A key that also decrypts or attests other keys is no signing key of ours. */
function signsOnly({ purposes = [] }: AuthorizationList): boolean {
  return (
    purposes.includes(PURPOSE_SIGN) &&
    purposes.every((purpose) => purpose === PURPOSE_SIGN || purpose === PURPOSE_VERIFY)
  )
}

/**
 * Apps that share a user id share their keys, so each of them must be allowed; and an app with several signers is of
 * each of them. Assertions name the first package and digest in the order of the configuration.
 */
function allowedApp(
  application: AttestationApplicationId | undefined,
  apps: readonly AndroidApp[],
): string | undefined {
  const packages = application?.packages.map(({ name }) => name) ?? []
  const digests = application?.signatures.map((digest) => Buffer.from(digest).toString('hex')) ?? []
  const mine = apps.filter(
    (app) =>
      packages.includes(app.package) &&
      digests.every((digest) => app.certificateDigests.includes(digest)),
  )
  const [app] = mine
  const digest = app?.certificateDigests.find((candidate) => digests.includes(candidate))
  const allAllowed = packages.every((name) => mine.some((one) => one.package === name))
  return app !== undefined && digest !== undefined && allAllowed
    ? `${app.package}:${digest}`
    : undefined
}

/** YYYYMM; a phone that gives the day as well gives eight digits. Zero where it says nothing that could be read. */
function patchLevelOf({ osPatchLevel = 0n }: AuthorizationList): number {
  const match = /^(\d{4}(?:0[1-9]|1[0-2]))(?:\d\d)?$/.exec(osPatchLevel.toString())
  return Number(match?.[1] ?? 0)
}

function asksForPerson(
  { noAuthRequired, userAuthType = 0n, authTimeout = 0n }: AuthorizationList,
  withinSeconds: number,
): boolean {
  return (
    noAuthRequired !== true &&
    userAuthType > 0n &&
    authTimeout >= 0n &&
    authTimeout <= BigInt(withinSeconds)
  )
}

function startedAsMade(
  { rootOfTrust }: AuthorizationList,
  { ownerBootKeys }: AndroidPolicy,
): boolean {
  if (rootOfTrust?.deviceLocked !== true) return false
  const { verifiedBootState, verifiedBootKey } = rootOfTrust
  if (verifiedBootState === BOOT_VERIFIED) return true
  return (
    verifiedBootState === BOOT_SELF_SIGNED &&
    ownerBootKeys.has(Buffer.from(verifiedBootKey).toString('hex'))
  )
}
