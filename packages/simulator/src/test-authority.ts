import { createPrivateKey } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AppAttestAuthority, createAppAttestAuthority } from './app-attest/authority.ts'
import { type AndroidAuthority, createAndroidAuthority } from './android/authority.ts'
import { SIMULATED_APP } from './android/description.ts'
import { pemOf } from './test-pki/certificate.ts'
import { newKey } from './test-pki/key.ts'

/** What Apple and Google are to a real phone. Whoever runs the simulated one holds its keys. */
export interface TestAuthority {
  readonly apple: AppAttestAuthority
  readonly android: AndroidAuthority
}

/** The iOS app of the simulated phone: a team that Apple has not. */
export const SIMULATED_APPLE_APP = {
  team_id: 'SIMULATED0',
  bundle_id: 'org.bonded.simulated',
  category: 4,
  bundleVersion: '1.0',
} as const

const AUTHORITY_FILE = 'phone-authority.json'
/** What a service is given as `BONDED_TEST_ROOTS`. It holds no secret. */
const TEST_ROOTS_FILE = 'test-roots.json'

/** The keys of the authority, as they are kept. */
interface StoredAuthority {
  readonly apple: AppAttestAuthority
  /** PKCS #8, PEM. */
  readonly android_root_key: string
}

/** Where the roots of the authority in a folder stand, if it has one. */
export function findTestRoots(folder: string): string | undefined {
  const file = join(folder, TEST_ROOTS_FILE)
  return existsSync(file) ? file : undefined
}

/**
 * The authority that is kept in a folder, made at the first time (mode 0600), with its roots in a
 * file beside it.
 */
export function loadTestAuthority(folder: string): TestAuthority {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, AUTHORITY_FILE)
  try {
    writeFileSync(file, `${JSON.stringify(newAuthority(), null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code !== 'EEXIST') throw failure
  }
  const authority = authorityOf(JSON.parse(readFileSync(file, 'utf8')) as StoredAuthority)
  if (findTestRoots(folder) === undefined)
    writeFileSync(
      join(folder, TEST_ROOTS_FILE),
      `${JSON.stringify(testRootsOf(authority), null, 2)}\n`,
    )
  return authority
}

/** An authority that ends with the process. */
export function createTestAuthority(): TestAuthority {
  return authorityOf(newAuthority())
}

function authorityOf({ apple, android_root_key }: StoredAuthority): TestAuthority {
  return { apple, android: createAndroidAuthority(createPrivateKey(android_root_key)) }
}

function newAuthority(): StoredAuthority {
  return {
    apple: createAppAttestAuthority(Date.now()),
    android_root_key: newKey().export({ format: 'pem', type: 'pkcs8' }),
  }
}

function testRootsOf({ apple, android }: TestAuthority): object {
  const { team_id, bundle_id, category } = SIMULATED_APPLE_APP
  return {
    apple_apps: [{ team_id, bundle_id, categories: [category], missing: 'refuse' }],
    android_apps: [
      {
        package: SIMULATED_APP.package,
        certificate_digests: [Buffer.from(SIMULATED_APP.certificateDigest).toString('hex')],
      },
    ],
    roots: { apple: [apple.root], android: [pemOf(android.root)] },
  }
}
