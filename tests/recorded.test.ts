import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { repositoryFiles } from '../scripts/repository-files.ts'

const ROOT = resolve(import.meta.dirname, '..')
const ATTESTATION = 'packages/attestation/tests'
const VERIFIERS = 'packages/server/tests/adapters/attestation'

/** The test files with tests that a clone skips, each with the published source that it needs. */
const NEEDED: Readonly<Record<string, string>> = {
  [`${ATTESTATION}/android/fuzz.test.ts`]: 'attestation chains of Android devices',
  [`${ATTESTATION}/android/recorded.test.ts`]: 'attestation chains of Android devices',
  [`${ATTESTATION}/android/without-root.test.ts`]: 'chains that a root of Google signed',
  [`${ATTESTATION}/apple/recorded-attestations.test.ts`]: 'attestations of iPhones',
  [`${ATTESTATION}/apple/recorded-receipts.test.ts`]: 'receipts that Apple signed',
  [`${ATTESTATION}/apple/verify-assertion.test.ts`]: 'assertions of iPhones',
  [`${ATTESTATION}/passport/fuzz.test.ts`]: 'passports of states',
  [`${ATTESTATION}/passport/recorded.test.ts`]: 'passports of states',
  [`${ATTESTATION}/webauthn/recorded.test.ts`]: 'vectors of WebAuthn, captures of authenticators',
  [`${VERIFIERS}/android/google-revocations.test.ts`]: 'the revocation list of Google',
  [`${VERIFIERS}/apple/assertion-verifier.test.ts`]: 'assertions of iPhones',
  [`${VERIFIERS}/passport/trust-folder.test.ts`]: 'the Dutch master list',
  'packages/contract/tests/canonical.test.ts': 'RFC 8785',
  'packages/integrator/tests/webhook.test.ts': 'the cases of Standard Webhooks',
  'packages/phone-page/tests/described-gate.test.ts': 'motion of real phones',
  'packages/phone-page/tests/step-up.test.ts': 'motion of real phones',
  'packages/server/tests/adapters/carrier/published.test.ts': 'the OpenAPI files of CAMARA',
  'tests/continuity.test.ts': 'motion of real phones',
  'tests/outside/user-without-app.test.ts': 'motion of real phones',
  'tests/pack/pack.test.ts': 'passports of states',
}
/** The modules that read recordings. Their reason is how a run counts the skipped tests. */
const READERS = ['packages/contract/tests/vectors.ts', 'scripts/continuity/recordings.ts']

const sources = repositoryFiles().filter((path) => /\.(?:[mc]?[jt]s|py)$/.test(path))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const OWN = 'tests/recorded.test.ts'

test('only tests of what others published depend on recordings', () => {
  const dependent = sources.filter(
    (path) => path.endsWith('.test.ts') && /\b(?:vectors|recordings)Missing\b/.test(read(path)),
  )
  assert.deepEqual(
    dependent.filter((path) => path !== OWN).toSorted(),
    Object.keys(NEEDED).toSorted(),
    'create the data of the test with code, or name what is published and cannot be created',
  )
})

test('no other module reads a folder beside the repository', () => {
  const reading = sources.filter((path) => /\.\.\/shared\//.test(read(path)) && path !== OWN)
  // The runner of the tests only says that the folder is missing.
  assert.deepEqual(reading.toSorted(), [...READERS, 'scripts/test.ts'].toSorted())
  for (const reader of READERS) assert.match(read(reader), /`the recorded \w+ (?:are|is) not at /)
})
