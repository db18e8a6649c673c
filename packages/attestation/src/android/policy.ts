import { readDigest } from '../arguments.ts'
import type { Environment } from '../environment.ts'
import { accept, rejectWith, type Result } from '../result.ts'
import type { AttestationApplicationId, AuthorizationList } from './authorization-list.ts'
import {
  type AndroidKeyAlgorithm,
  describesKind,
  isKeyAlgorithm,
  permitsUse,
} from './key-algorithms.ts'
import { type KeyDescription, SECURITY_LEVEL } from './key-description.ts'

/** The requirements for Android keys. Digests are SHA-256 in hex, in either case. */
export interface AndroidPolicy {
  /** Digest of each trusted root's public key (SPKI, DER). */
  readonly roots: ReadonlySet<string>
  /** The same for test roots, whose keys are sandbox keys whatever the description states. */
  readonly testRoots: ReadonlySet<string>
  /** The apps that may hold a key. */
  readonly apps: readonly AndroidApp[]
  /** The oldest accepted security patch level, as YYYYMM. Null: any. */
  readonly minPatchLevel: number | null
  /** Boot keys, in hex, of accepted custom operating systems, such as GrapheneOS. */
  readonly ownerBootKeys: ReadonlySet<string>
  /**
   * How long after user authentication the hardware may sign; 0 demands it for every signature.
   * Null: not demanded.
   */
  readonly userAuthenticationWithinSeconds: number | null
  /** What the keys may sign with. Only ES256 where it is absent, which WebAuthn always demands. */
  readonly keyAlgorithms?: readonly AndroidKeyAlgorithm[]
}

/** An app: its package, and the digests (SHA-256, hex) of its accepted signing certificates. */
export interface AndroidApp {
  readonly package: string
  readonly certificateDigests: readonly string[]
}

/**
 * Returns the policy with all digests in lower-case hex.
 *
 * @throws {RangeError} for a value of another form, which would accept too little or too much
 */
export function readPolicy(policy: AndroidPolicy): AndroidPolicy {
  const { minPatchLevel, userAuthenticationWithinSeconds: seconds } = policy
  if (minPatchLevel !== null && !/^\d{4}(?:0[1-9]|1[0-2])$/.test(String(minPatchLevel)))
    throw new RangeError('minPatchLevel must be null, or a year and a month such as 202601')
  if (seconds !== null && !(Number.isSafeInteger(seconds) && seconds >= 0))
    throw new RangeError('userAuthenticationWithinSeconds must be null, or an integer from 0 on')
  if (policy.keyAlgorithms?.every(isKeyAlgorithm) === false)
    throw new RangeError('keyAlgorithms has an unknown name')
  const digests = (name: 'roots' | 'testRoots' | 'ownerBootKeys') =>
    new Set([...policy[name]].map((digest) => readDigest(name, digest)))
  return {
    ...policy,
    roots: digests('roots'),
    testRoots: digests('testRoots'),
    ownerBootKeys: digests('ownerBootKeys'),
    apps: policy.apps.map((app) => ({
      ...app,
      certificateDigests: app.certificateDigests.map((digest) =>
        readDigest('certificateDigests', digest),
      ),
    })),
  }
}

// Values from Android's KeyMint AIDL files (KeyPurpose.aidl, Algorithm.aidl and others).
const PURPOSE_SIGN = 2n
const PURPOSE_VERIFY = 3n
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
 * @returns the environment, the app as `package:certificate digest`, and the algorithms of the
 * policy
 *   that the description permits
 */
export function checkKeyDescription(
  description: KeyDescription,
  { challenge, root, policy }: { challenge: Uint8Array; root: string; policy: AndroidPolicy },
): Result<
  {
    readonly environment: Environment
    readonly appId: string
    readonly keyAlgorithms: readonly AndroidKeyAlgorithm[]
  },
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
  const ofKind = (policy.keyAlgorithms ?? ['ES256']).filter((name) => describesKind(key, name))
  if (ofKind.length === 0) return fail('key_algorithm')
  const keyAlgorithms = ofKind.filter((name) => permitsUse(key, name))
  if (keyAlgorithms.length === 0) return fail('digest')
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
  return accept({ environment: trusted ? 'production' : 'sandbox', appId, keyAlgorithms })
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
