import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { BROWSER_KEY_STORES } from '@bonded/attestation/webauthn'
import { createAuthenticator, der, encodeApplicationId } from '@bonded/simulator'
import {
  APPS,
  AUTHORITY,
  CHALLENGE,
  describe,
  newKey,
  NOW,
  TRUSTED,
} from '../../../../../attestation/tests/android/chains.ts'
import { android, ORIGIN, trustOf } from '../../../../../attestation/tests/webauthn/test-pki.ts'
import type {
  RegistrationTask,
  RegistrationTrust,
  RegistrationVerdict,
} from '../../../../src/adapters/attestation/registration/task.ts'
import { NO_APPS } from '../../../../src/adapters/attestation/phone-trust.ts'
import { outcomeOf } from '../../../../../../tests/harness/outcome-of.ts'

const WORKER = new URL(
  '../../../../src/adapters/attestation/registration/worker.ts',
  import.meta.url,
)
const CENTURY_MS = 100 * 365 * 86_400_000
const challenge = CHALLENGE.toString('base64url')

const roots = new Set([...(TRUSTED.roots ?? []), ...trustOf().android.roots])
const trust: RegistrationTrust = {
  phones: { ...NO_APPS, android: { ...NO_APPS.android, roots, apps: APPS } },
  origin: ORIGIN,
}

/** A browser key attested by Android hardware. */
function browserKey(): RegistrationTask {
  const [store] = BROWSER_KEY_STORES
  const signer = Buffer.from(store?.certificateDigests[0] ?? '', 'hex')
  const app = der.octets(encodeApplicationId([store?.package ?? ''], [signer]))
  const attestation = android({}, { 709: app })
  const registration = createAuthenticator({ origin: ORIGIN, attestation }).register(challenge)
  return { format: 'webauthn', request: { challenge, registration }, now: NOW }
}

function androidKey(now: number): RegistrationTask {
  const chain = AUTHORITY.attest(newKey().publicKey, describe())
  const certificate_chain = chain.map((one) => one.toString('base64url'))
  return { format: 'android-key', request: { challenge, certificate_chain }, now }
}

test('verifies consecutive registrations each at its own time and returns its own serials', async () => {
  const worker = new Worker(WORKER, { workerData: trust })
  const responses: RegistrationVerdict[] = []
  const tasks = [browserKey(), androidKey(NOW), browserKey(), androidKey(NOW - CENTURY_MS)]
  assert.deepEqual(await once(worker, 'message'), ['loaded'])
  worker.on('message', (response: RegistrationVerdict) => responses.push(response))
  for (const task of tasks) worker.postMessage(task)
  while (responses.length < tasks.length) await once(worker, 'message')
  await worker.terminate()
  assert.deepEqual(
    responses.map(({ result }) => outcomeOf(result)),
    ['ok', 'ok', 'ok', 'validity'],
  )
  assert.deepEqual(
    responses.map(({ serials }) => serials.length),
    [4, 4, 4, 0],
  )
})
