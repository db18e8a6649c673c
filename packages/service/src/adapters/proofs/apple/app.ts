import { hash } from 'node:crypto'
import type { Extensions } from './extensions.ts'

/** Which of Apple's attestation services the app talks to: `development` for builds signed for development. */
export type AppleEnvironment = 'development' | 'production'

/** What the operator says of an app: whose phones may register, and which builds of it may speak. */
export interface AppleApp {
  /** Team id, dot, bundle id. */
  readonly appId: string
  readonly environments: readonly AppleEnvironment[]
  /** Validation categories: 4 is the App Store, 2 TestFlight, 3 development, 5 enterprise. */
  readonly categories: readonly number[]
  /** `allow` for apps that also run before iOS 27, which sends neither category nor version. */
  readonly missing: 'allow' | 'refuse'
  readonly bundleVersions: BundleVersions
}

/** Every one, those listed, or those from one on. */
export type BundleVersions =
  | 'any'
  | { readonly listed: readonly string[] }
  | { readonly minimum: string }

const hashes = new WeakMap<AppleApp, Buffer>()

/** What authenticator data calls the app: SHA-256 of its id. Kept, because every assertion asks for it. */
export function appIdHashOf(app: AppleApp): Buffer {
  const known = hashes.get(app)
  if (known !== undefined) return known
  const appIdHash = hash('sha256', app.appId, 'buffer')
  hashes.set(app, appIdHash)
  return appIdHash
}

/** Whether the app may run from where it came from. */
export function takesCategory(app: AppleApp, { category }: Extensions): boolean {
  return category === undefined ? app.missing === 'allow' : app.categories.includes(category)
}

/** Whether this build of the app is one of those taken. */
export function takesBundleVersion(
  { bundleVersions, missing }: AppleApp,
  { bundleVersion }: Extensions,
): boolean {
  if (bundleVersions === 'any') return true
  if (bundleVersion === undefined) return missing === 'allow'
  return 'listed' in bundleVersions
    ? bundleVersions.listed.includes(bundleVersion)
    : isAtLeast(bundleVersion, bundleVersions.minimum)
}

/** CFBundleVersion: up to three integers, those left out being 0. What is not of that form is older than anything. */
function isAtLeast(version: string, minimum: string): boolean {
  const [had, wanted] = [integersOf(version), integersOf(minimum)]
  if (had === undefined || wanted === undefined) return false
  for (const [at, want] of wanted.entries()) {
    const have = had[at] ?? 0
    if (have !== want) return have > want
  }
  return true
}

function integersOf(version: string): number[] | undefined {
  return /^\d{1,9}(\.\d{1,9}){0,2}$/.test(version) ? version.split('.').map(Number) : undefined
}
