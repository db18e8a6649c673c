import { createPrivateKey } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AppAttestAuthority, createAppAttestAuthority } from './app-attest/authority.ts'
import { type AndroidAuthority, createAndroidAuthority } from './android/authority.ts'
import { SIMULATED_APP } from './android/description.ts'
import { pemOf } from './test-pki/certificate.ts'
import { newKey } from './test-pki/key.ts'

/** A test replacement for Apple and Google. Its private keys are on this machine. */
export interface TestAuthority {
  readonly apple: AppAttestAuthority
  readonly android: AndroidAuthority
}

/** The iOS app of the simulated phone. Apple has no such team. */
export const SIMULATED_APPLE_APP = {
  team_id: 'SIMULATED0',
  bundle_id: 'org.bonded.simulated',
  category: 4,
  bundleVersion: '1.0',
} as const

const AUTHORITY_FILE = 'phone-authority.json'
/** The file that `BONDED_TEST_ROOTS` names. It contains no secret. */
const TEST_ROOTS_FILE = 'test-roots.json'

/** The stored keys of an authority. */
interface StoredAuthority {
  readonly apple: AppAttestAuthority
  /** PKCS #8, PEM. */
  readonly android_root_key: string
}

/** Returns the path of the test roots in a folder. Undefined if there are none. */
export function findTestRoots(folder: string): string | undefined {
  const file = join(folder, TEST_ROOTS_FILE)
  return existsSync(file) ? file : undefined
}

/**
 * Loads the authority of a folder. The first call creates it (mode 0600), with a file of its roots.
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

/** Creates an authority that exists only in this process. */
export function createTestAuthority(): TestAuthority {
  return authorityOf(newAuthority())
}

function authorityOf({ apple, android_root_key }: StoredAuthority): TestAuthority {
  return { apple, android: createAndroidAuthority(createPrivateKey(android_root_key)) }
}

function newAuthority(): StoredAuthority {
  return {
    apple: createAppAttestAuthority(Date.now()),
    android_root_key: String(newKey().export({ format: 'pem', type: 'pkcs8' })),
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
