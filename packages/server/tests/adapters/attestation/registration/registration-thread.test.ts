import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import {
  registrationPool,
  registrationThread,
} from '../../../../src/adapters/attestation/registration/registration-thread.ts'
import { NO_APPS } from '../../../../src/adapters/attestation/phone-trust.ts'
import type { Attestation } from '../../../../src/adapters/attestation/attestation.ts'
import type { Clock } from '../../../../../core/src/ports/clock.ts'
import {
  androidKey,
  appleKey,
  withProductionRoots,
  asTestRoots,
  ATTESTED_KEYS,
  webauthnKey,
} from '../../../../../../tests/harness/attested-phones.ts'
import { harness, PUBLIC_ORIGIN } from '../../../../../../tests/harness/harness.ts'
import { TestClock } from '../../../../../../tests/harness/test-clock.ts'

/** One running registration and a full queue. */
const CAPACITY = 501
const CHALLENGE = Buffer.alloc(32, 1).toString('base64url')

/** The service's attestation verifiers, whose Apple worker runs another module. */
function withWorker(script: string) {
  return (clock: Clock): Attestation => {
    const { assertionVerifiers, attestationVerifiers } = asTestRoots(clock)
    const revocations = { check: async () => 'good' as const }
    const trust = { phones: NO_APPS, origin: PUBLIC_ORIGIN }
    const pool = registrationPool(trust, clock, new URL(script, import.meta.url))
    const thread = registrationThread({ pool, revocations, clock })
    return {
      assertionVerifiers,
      attestationVerifiers: {
        ...attestationVerifiers,
        'apple-app-attest': thread.verifierOf('apple-app-attest'),
        [Symbol.asyncDispose]: () => thread[Symbol.asyncDispose](),
      },
    }
  }
}

test('rejects a registration as overloaded when the queue is full, and registers nothing when the worker hangs', async () => {
  await using h = await harness({ attestation: withWorker('../../workers/hanging-worker.ts') })
  const attestationVerifier = h.running.service.attestationVerifiers['apple-app-attest']
  const request = { challenge: CHALLENGE, ...appleKey().register(CHALLENGE) } as never
  assert.ok(attestationVerifier)
  const waiting = Array.from({ length: CAPACITY }, () => attestationVerifier.verify(request))

  const { challenge } = (await h.api('POST', '/devices/challenges')).body
  const rejected = await h.api('POST', '/devices', {
    body: { format: 'apple-app-attest', challenge, ...appleKey().register(challenge) },
  })
  assert.deepEqual(
    [rejected.status, rejected.body.error.reason, rejected.headers['retry-after']],
    [503, 'overloaded', '1'],
  )
  await h.register()

  // Each deadline ends one registration and starts the next one on a new worker.
  for (const registration of waiting.slice(0, 3)) {
    // Also the end of a worker that has not loaded yet.
    h.clock.advance(60_000)
    assert.deepEqual(await registration, {
      ok: false,
      rejection: { reason: 'overloaded', step: 'registration_timed_out' },
    })
  }
  await h.running.service.attestationVerifiers[Symbol.asyncDispose]()
  const rest = await Promise.all(waiting.slice(3))
  assert.ok(rest.every((result) => !result.ok && result.rejection.reason === 'overloaded'))
})

test('rejects a registration as overloaded when the worker crashes', async () => {
  await using h = await harness({ attestation: withWorker('../../workers/breaking-worker.ts') })
  const { challenge } = (await h.api('POST', '/devices/challenges')).body
  const body = { format: 'apple-app-attest', challenge, ...appleKey().register(challenge) }
  for (let call = 0; call < 2; call++) {
    const rejected = await h.api('POST', '/devices', { body })
    assert.deepEqual([rejected.status, rejected.body.error.reason], [503, 'overloaded'])
  }
})

test('verifies each key at the time of its own request, independently of other chains', async () => {
  const clock = new TestClock()
  const { attestationVerifiers } = asTestRoots(clock)
  after(() => attestationVerifiers[Symbol.asyncDispose]())
  const register = async (format: (typeof ATTESTED_KEYS)[number][0], registration: object) => {
    const result = await attestationVerifiers[format]?.verify({
      challenge: CHALLENGE,
      ...registration,
    } as never)
    return result?.ok === true ? 'ok' : result?.rejection.step
  }
  const keys = ATTESTED_KEYS.map(([format, make]) => [format, make().register(CHALLENGE)] as const)
  const verdicts = await Promise.all(
    [...keys, ...keys].map(([format, registration]) => register(format, registration)),
  )
  assert.deepEqual(
    verdicts,
    Array.from({ length: 6 }, () => 'ok'),
  )
  const [apple] = keys
  assert.ok(apple)
  clock.advance(40 * 365 * 24 * 3_600_000)
  assert.equal(await register(...apple), 'certificate_chain')
})

test('queries the revocation list for a valid chain and never for an invalid one', async () => {
  const clock = new TestClock()
  let response = '{"entries":{}}'
  let fetches = 0
  const attestation = withProductionRoots(clock, async () => {
    fetches += 1
    if (response === '') throw new Error('Google is unreachable')
    return {
      status: 200,
      headers: new Headers({ 'cache-control': 'max-age=60' }),
      text: async () => response,
    }
  })
  after(() => attestation.attestationVerifiers[Symbol.asyncDispose]())
  const register = async (
    tamper: (chain: readonly string[]) => readonly string[] = (chain) => chain,
  ) => {
    const { certificate_chain } = androidKey().register(CHALLENGE) as {
      certificate_chain: readonly string[]
    }
    const registered = await attestation.attestationVerifiers['android-key']?.verify({
      challenge: CHALLENGE,
      certificate_chain: [...tamper(certificate_chain)],
    })
    return registered?.ok === true
      ? 'ok'
      : `${registered?.rejection.reason} ${registered?.rejection.step}`
  }
  assert.equal(await register((chain) => chain.toReversed()), 'attestation_invalid self_issued')
  assert.equal(fetches, 0)
  response = ''
  assert.equal(await register(), 'overloaded revocation_unknown')
  response = '{"entries":{"3":{"status":"REVOKED"}}}'
  clock.advance(60_000)
  assert.equal(await register(), 'attestation_invalid revoked')
  // Revoked serials of another phone's chain do not affect this one.
  const other = await attestation.attestationVerifiers.webauthn?.verify({
    challenge: CHALLENGE,
    ...webauthnKey().register(CHALLENGE),
  } as never)
  assert.equal(other?.ok, true)
  response = '{"entries":{}}'
  clock.advance(60_000)
  // Within the grace period the cached list is used; the next registration gets the newer one.
  await register()
  assert.equal(await register(), 'ok')
})

/** The lowest priority of Linux. A test run can itself have a low one. */
const LOWEST = 19
const lowered = (priority: number) => Math.min(priority + 10, LOWEST)

test('runs worker threads at a lower priority than the event loop on Linux', {
  skip: process.platform !== 'linux' && 'only Linux has thread priorities',
}, async () => {
  const before = getPriority()
  const worker = new Worker(new URL('../../workers/priority-worker.ts', import.meta.url))
  const [workerPriority] = await once(worker, 'message')
  await worker.terminate()
  assert.equal(workerPriority, lowered(before))
  assert.equal(getPriority(), before)
})

test('lowers worker priority relative to a service that was started at a low priority', {
  skip: process.platform !== 'linux' && 'only Linux has thread priorities',
}, () => {
  const worker = join(import.meta.dirname, '../../workers/priority-worker.ts')
  const start = `new (require('node:worker_threads').Worker)(${JSON.stringify(worker)}).once('message', (priority) => console.log(os.getPriority(), priority))`
  for (const nice of [5, 15, 19]) {
    const args = ['-n', String(nice), process.execPath, '--conditions=@bonded/source', '-e', start]
    const priority = Math.min(getPriority() + nice, LOWEST)
    const { stdout } = spawnSync('nice', args, { encoding: 'utf8' })
    assert.equal(stdout.trim(), `${priority} ${lowered(priority)}`)
  }
})
