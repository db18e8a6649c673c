import { hash, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AndroidApp, GOOGLE_ROOTS } from '@bonded/attestation/android'
import type { AppleApp } from '@bonded/attestation/apple'
import type { TrustedPhones } from '../adapters/attestation/phone-trust.ts'
import type { AppLinks } from '@bonded/core/operations/service'
import {
  type FileMistake,
  type FileOf,
  PHONES_FILE,
  readSections,
  TEST_ROOTS_FILE,
} from './phones-file.ts'

/** A file's mistake, and which file it is in. */
export interface PhonesMistake extends FileMistake {
  readonly setting: 'BONDED_PHONES' | 'BONDED_TEST_ROOTS'
}

/** The phones that the two files say may register. Without a file, its parts are empty. */
export function readTrustedPhones(
  files: Readonly<Record<PhonesMistake['setting'], string | undefined>>,
): {
  phones: TrustedPhones
  appLinks: AppLinks
  mistakes: readonly PhonesMistake[]
} {
  const own = readSections(
    files.BONDED_PHONES === undefined ? {} : parseFile(files.BONDED_PHONES),
    PHONES_FILE,
  )
  const test = readSections(
    files.BONDED_TEST_ROOTS === undefined ? {} : parseFile(files.BONDED_TEST_ROOTS),
    TEST_ROOTS_FILE,
  )
  const mistakes = [
    ...own.mistakes.map((mistake) => ({ ...mistake, setting: 'BONDED_PHONES' as const })),
    ...test.mistakes.map((mistake) => ({ ...mistake, setting: 'BONDED_TEST_ROOTS' as const })),
  ]
  // A file with a mistake is not used in part.
  const [phones, roots] =
    mistakes.length === 0 ? [own.sections, test.sections] : [EMPTY.phones, EMPTY.roots]
  return { phones: trustedPhones(phones, roots), appLinks: appLinksOf(phones), mistakes }
}

/** The operator's own apps. Test apps are not among them: no store installs those. */
function appLinksOf({ apple_apps, android_apps }: FileOf<typeof PHONES_FILE>): AppLinks {
  return {
    apple: apple_apps.map((app) => appleApp(app).appId),
    android: android_apps.map((app) => ({
      packageName: androidApp(app).package,
      certificateDigests: androidApp(app).certificateDigests.map((digest) =>
        digest.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:'),
      ),
    })),
  }
}

const EMPTY = {
  phones: readSections({}, PHONES_FILE).sections,
  roots: readSections({}, TEST_ROOTS_FILE).sections,
}

function trustedPhones(
  own: FileOf<typeof PHONES_FILE>,
  test: FileOf<typeof TEST_ROOTS_FILE>,
): TrustedPhones {
  const { min_patch_level, extra_roots, owner_boot_keys, user_authentication_within_seconds } =
    own.android
  return {
    apple: {
      apps: [...own.apple_apps, ...test.apple_apps].map(appleApp),
      testRoots: texts(test.roots.apple),
    },
    android: {
      apps: [...own.android_apps, ...test.android_apps].map(androidApp),
      roots: new Set([...GOOGLE_ROOTS, ...texts(extra_roots).map(keyDigest)]),
      testRoots: new Set(texts(test.roots.android).map(keyDigest)),
      minPatchLevel: min_patch_level === null ? null : Number(min_patch_level),
      ownerBootKeys: new Set(texts(owner_boot_keys).map(bareDigest)),
      userAuthenticationWithinSeconds:
        user_authentication_within_seconds === null
          ? null
          : Number(user_authentication_within_seconds),
    },
    webauthn: {
      packedRoots: texts(own.webauthn.packed_roots),
      testRoots: texts(test.roots.webauthn),
    },
  }
}

type Written = FileOf<typeof PHONES_FILE>['apple_apps'][number]

function appleApp({
  team_id,
  bundle_id,
  environments,
  categories,
  missing,
  bundle_versions,
}: Written): AppleApp {
  return {
    appId: `${String(team_id)}.${String(bundle_id)}`,
    environments: environments as AppleApp['environments'],
    categories: categories as AppleApp['categories'],
    missing: missing as AppleApp['missing'],
    bundleVersions: Array.isArray(bundle_versions)
      ? { listed: bundle_versions as string[] }
      : (bundle_versions as AppleApp['bundleVersions']),
  }
}

function androidApp({ package: name, certificate_digests }: Written): AndroidApp {
  return { package: String(name), certificateDigests: texts(certificate_digests).map(bareDigest) }
}

const texts = (list: unknown) => list as readonly string[]
const bareDigest = (digest: string) => digest.replaceAll(':', '').toLowerCase()
const keyDigest = (pem: string) =>
  hash('sha256', new X509Certificate(pem).publicKey.export({ format: 'der', type: 'spki' }))

/** Undefined if the file does not exist or cannot be parsed. */
function parseFile(path: string): unknown {
  try {
    const text = readFileSync(path, 'utf8')
    if (path.endsWith('.json')) return JSON.parse(text)
    // Loaded here, because a JSON file does not need the parser.
    const { parse } = createRequire(import.meta.url)('yaml') as typeof import('yaml')
    return parse(text)
  } catch {
    return undefined
  }
}
