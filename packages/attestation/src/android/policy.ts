import type { Environment } from '../environment.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import type { AttestationApplicationId, AuthorizationList } from './authorization-list.ts'
import { type KeyDescription, SECURITY_LEVEL } from './key-description.ts'

/** The requirements for Android keys. */
export interface AndroidPolicy {
  /** SHA-256 of each trusted root's public key (SPKI, DER), lower-case hex. */
  readonly roots: ReadonlySet<string>
  /** The same for test roots, whose keys are sandbox keys whatever the description states. */
  readonly testRoots: ReadonlySet<string>
  /** The apps that may hold a key. */
  readonly apps: readonly AndroidApp[]
  /** The oldest accepted security patch level, as YYYYMM. Null: any. */
  readonly minPatchLevel: number | null
  /** Boot keys (lower-case hex) of accepted custom operating systems, such as GrapheneOS. */
  readonly ownerBootKeys: ReadonlySet<string>
  /**
   * How long after user authentication the hardware may sign; 0 demands it for every signature.
   * Null: not demanded.
   */
  readonly userAuthenticationWithinSeconds: number | null
}

/** An app: its package, and the SHA-256 (lower-case hex) of its accepted signing certificates. */
export interface AndroidApp {
  readonly package: string
  readonly certificateDigests: readonly string[]
}

/**
 * Google's two roots: an RSA key since 2016, under several certificates, and "Key Attestation CA1"
 * on P-384 since 2025.
 */
export const GOOGLE_ROOTS: ReadonlySet<string> = new Set([
  'feb2ea7551ee316ed4bb443c8293b884dbfdea40b603ee3e4f4a897e4580fbae',
  '3ee44512a1af2beb39c889490c60ea3f82e43f5d5a5532f5ab9419f676cd07ec',
])

// Values from Android's KeyMint AIDL files (KeyPurpose.aidl, Algorithm.aidl and others).
const PURPOSE_SIGN = 2n
const PURPOSE_VERIFY = 3n
const ALGORITHM_EC = 3n
const CURVE_P256 = 1n
const DIGEST_SHA256 = 4n
const ORIGIN_GENERATED = 0n
const BOOT_VERIFIED = 0n
const BOOT_SELF_SIGNED = 1n

/** The check that failed. */
export type KeyDescriptionStep =
  | 'challenge'
  | 'security_level'
  | 'origin'
  | 'purpose'
  | 'key_algorithm'
  | 'digest'
  | 'all_applications'
  | 'application_id'
  | 'patch_level'
  | 'user_authentication'

/**
 * Checks the description of a key against the policy.
 *
 * @returns the environment, and the app as `package:certificate digest`
 */
export function checkKeyDescription(
  description: KeyDescription,
  { challenge, root, policy }: { challenge: Uint8Array; root: string; policy: AndroidPolicy },
): Result<
  { readonly environment: Environment; readonly appId: string },
  'attestation_invalid',
  KeyDescriptionStep
> {
  const fail = rejectWith('attestation_invalid')
  const { attestationSecurityLevel: level, softwareEnforced, hardwareEnforced } = description
  // 1. The key was attested for this challenge.
  if (Buffer.compare(description.attestationChallenge, challenge) !== 0) return fail('challenge')
  // 2. The same environment attests the key and stores it.
  if (
    level !== description.keyMintSecurityLevel ||
    level < SECURITY_LEVEL.software ||
    level > SECURITY_LEVEL.strongBox
  )
    return fail('security_level')
  // 3. The list that this environment enforces describes the key. Without secure hardware it is the
  //    software's list, and the key is a sandbox key.
  const key = level === SECURITY_LEVEL.software ? softwareEnforced : hardwareEnforced
  if (key.origin !== ORIGIN_GENERATED) return fail('origin')
  if (!signsOnly(key)) return fail('purpose')
  if (
    key.algorithms !== ALGORITHM_EC ||
    (key.ecCurve ?? CURVE_P256) !== CURVE_P256 ||
    (key.keySize ?? 256n) !== 256n
  )
    return fail('key_algorithm')
  if (key.digests?.includes(DIGEST_SHA256) !== true) return fail('digest')
  // 4. The key belongs to one app, and the policy accepts the app. Only the operating system knows
  //    which app created the key.
  if (softwareEnforced.allApplications === true || hardwareEnforced.allApplications === true)
    return fail('all_applications')
  const appId = allowedApp(softwareEnforced.attestationApplicationId, policy.apps)
  if (appId === undefined) return fail('application_id')
  // 5. The patch level is recent enough.
  if (policy.minPatchLevel !== null && patchLevelOf(key) < policy.minPatchLevel)
    return fail('patch_level')
  // 6. The hardware authenticates the user, if the policy demands it.
  if (
    policy.userAuthenticationWithinSeconds !== null &&
    !requiresUser(key, policy.userAuthenticationWithinSeconds)
  )
    return fail('user_authentication')
  // 7. Without secure hardware, or without a verified and locked boot, the holder of the phone
  //    could have written the description: a sandbox key.
  const trusted =
    level !== SECURITY_LEVEL.software &&
    isVerifiedBoot(hardwareEnforced, policy) &&
    !policy.testRoots.has(root)
  return accept({ environment: trusted ? 'production' : 'sandbox', appId })
}

/** A key that may also decrypt, or attest other keys, is rejected. */
function signsOnly({ purposes = [] }: AuthorizationList): boolean {
  return (
    purposes.includes(PURPOSE_SIGN) &&
    purposes.every((purpose) => purpose === PURPOSE_SIGN || purpose === PURPOSE_VERIFY)
  )
}

/**
 * Apps that share a user id share their keys, so the policy must accept each of them; an app with
 * several signers belongs to each of them. The app id has the first package and digest in the order
 * of the policy.
 */
function allowedApp(
  application: AttestationApplicationId | undefined,
  apps: readonly AndroidApp[],
): string | undefined {
  const packages = application?.packages.map(({ name }) => name) ?? []
  const digests = application?.signatures.map((digest) => Buffer.from(digest).toString('hex')) ?? []
  const matching = apps.filter(
    (app) =>
      packages.includes(app.package) &&
      digests.every((digest) => app.certificateDigests.includes(digest)),
  )
  const [app] = matching
  const digest = app?.certificateDigests.find((candidate) => digests.includes(candidate))
  const allAllowed = packages.every((name) => matching.some((one) => one.package === name))
  return app !== undefined && digest !== undefined && allAllowed
    ? `${app.package}:${digest}`
    : undefined
}

/** YYYYMM, also from phones that append the day. Zero for a missing or unreadable level. */
function patchLevelOf({ osPatchLevel = 0n }: AuthorizationList): number {
  const match = /^(\d{4}(?:0[1-9]|1[0-2]))(?:\d\d)?$/.exec(osPatchLevel.toString())
  return Number(match?.[1] ?? 0)
}

function requiresUser(
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

function isVerifiedBoot(
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
