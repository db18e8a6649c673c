import { hash } from 'node:crypto'
import type { Extensions } from './extensions.ts'

/** Apple's attestation service: `development` for builds with a development signature. */
export type AppleEnvironment = 'development' | 'production'

/** An app whose keys are accepted, and the builds of it that may sign. */
export interface AppleApp {
  /** Team id, dot, bundle id. */
  readonly appId: string
  readonly environments: readonly AppleEnvironment[]
  /** Validation categories: 4 is the App Store, 2 TestFlight, 3 development, 5 enterprise. */
  readonly categories: readonly number[]
  /** What to do without category or version: `allow` for apps that also run before iOS 27. */
  readonly missing: 'allow' | 'refuse'
  readonly bundleVersions: BundleVersions
}

/** All versions, the listed ones, or those from a minimum on. */
export type BundleVersions =
  | 'any'
  | { readonly listed: readonly string[] }
  | { readonly minimum: string }

const hashes = new WeakMap<AppleApp, Buffer>()

/** SHA-256 of the app id, as authenticator data names the app. Cached: every assertion needs it. */
export function appIdHashOf(app: AppleApp): Buffer {
  const known = hashes.get(app)
  if (known !== undefined) return known
  const appIdHash = hash('sha256', app.appId, 'buffer')
  hashes.set(app, appIdHash)
  return appIdHash
}

/** Whether the policy accepts the channel that the app was installed from. */
export function acceptsCategory(app: AppleApp, { category }: Extensions): boolean {
  return category === undefined ? app.missing === 'allow' : app.categories.includes(category)
}

/** Whether the policy accepts this build of the app. */
export function acceptsBundleVersion(
  { bundleVersions, missing }: AppleApp,
  { bundleVersion }: Extensions,
): boolean {
  if (bundleVersions === 'any') return true
  if (bundleVersion === undefined) return missing === 'allow'
  return 'listed' in bundleVersions
    ? bundleVersions.listed.includes(bundleVersion)
    : isAtLeast(bundleVersion, bundleVersions.minimum)
}

/**
 * Compares CFBundleVersion: up to three integers, where a missing one is 0. A version of another
 * form is older than any minimum.
 */
function isAtLeast(version: string, minimum: string): boolean {
  const [had, wanted] = [integersOf(version), integersOf(minimum)]
  if (had === undefined || wanted === undefined) return false
  for (const [index, want] of wanted.entries()) {
    const have = had[index] ?? 0
    if (have !== want) return have > want
  }
  return true
}

function integersOf(version: string): number[] | undefined {
  return /^\d{1,9}(\.\d{1,9}){0,2}$/.test(version) ? version.split('.').map(Number) : undefined
}
