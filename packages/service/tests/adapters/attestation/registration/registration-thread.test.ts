import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { registrationThread } from '../../../../src/adapters/attestation/registration/registration-thread.ts'
import { NO_APPS } from '../../../../src/adapters/attestation/trusted-phones.ts'
import type { Attestation } from '../../../../src/adapters/attestation/attestation.ts'
import type { Clock } from '../../../../src/ports/clock.ts'
import {
  androidKey,
  appleKey,
  asRealMakers,
  asTestRoots,
  ATTESTED_KEYS,
  webauthnKey,
} from '../../../harness/attested-phones.ts'
import { harness, PUBLIC_ORIGIN } from '../../../harness/harness.ts'
import { TestClock } from '../../../harness/test-clock.ts'

/** One that is judged, and those that may wait. */
const ROOM = 501
const CHALLENGE = Buffer.alloc(32, 1).toString('base64url')

/** The service's attestation verifiers, with another module in the place of their worker. */
function withWorker(script: string) {
  return (clock: Clock): Attestation => {
    const { assertionVerifiers, attestationVerifiers } = asTestRoots(clock)
    const revocations = { check: async () => 'good' as const }
    const trust = { phones: NO_APPS, origin: PUBLIC_ORIGIN }
    const thread = registrationThread({
      trust,
      revocations,
      clock,
      script: new URL(script, import.meta.url),
    })
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

test('when too many wait, a registration is refused as overloaded; others notice nothing, and one that hangs its judge registers nothing', async () => {
  await using h = await harness({ attestation: withWorker('../../workers/hanging-worker.ts') })
  const attestationVerifier = h.running.service.attestationVerifiers['apple-app-attest']
  const request = { challenge: CHALLENGE, ...appleKey().register(CHALLENGE) } as never
  assert.ok(attestationVerifier)
  const waiting = Array.from({ length: ROOM }, () => attestationVerifier.verify(request))

  const { challenge } = (await h.api('POST', '/devices/challenges')).body
  const refused = await h.api('POST', '/devices', {
    body: { format: 'apple-app-attest', challenge, ...appleKey().register(challenge) },
  })
  assert.deepEqual(
    [refused.status, refused.body.error.reason, refused.headers['retry-after']],
    [503, 'overloaded', '1'],
  )
  await h.register()

  for (let left = ROOM; left > 0; left--) h.clock.advance(3_000)
  for (const result of await Promise.all(waiting)) {
    assert.deepEqual(result, {
      ok: false,
      refusal: { reason: 'attestation_invalid', step: 'timed_out' },
    })
  }
})

test('a registration whose judge breaks is refused as overloaded, for it may not have been the phone’s fault', async () => {
  await using h = await harness({ attestation: withWorker('../../workers/breaking-worker.ts') })
  const { challenge } = (await h.api('POST', '/devices/challenges')).body
  const body = { format: 'apple-app-attest', challenge, ...appleKey().register(challenge) }
  for (let call = 0; call < 2; call++) {
    const refused = await h.api('POST', '/devices', { body })
    assert.deepEqual([refused.status, refused.body.error.reason], [503, 'overloaded'])
  }
})

test('each key is judged at the time of its own request, and what one chain names never counts against another', async () => {
  const clock = new TestClock()
  const { attestationVerifiers } = asTestRoots(clock)
  after(() => attestationVerifiers[Symbol.asyncDispose]())
  const register = async (format: (typeof ATTESTED_KEYS)[number][0], made: object) => {
    const result = await attestationVerifiers[format]?.verify({
      challenge: CHALLENGE,
      ...made,
    } as never)
    return result?.ok === true ? 'ok' : result?.refusal.step
  }
  const keys = ATTESTED_KEYS.map(([format, make]) => [format, make().register(CHALLENGE)] as const)
  const verdicts = await Promise.all(
    [...keys, ...keys].map(([format, made]) => register(format, made)),
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

test('Google is asked about a chain that holds, and never about one that does not', async () => {
  const clock = new TestClock()
  let answer = '{"entries":{}}'
  let asked = 0
  const attestation = asRealMakers(clock, async () => {
    asked += 1
    if (answer === '') throw new Error('Google is away')
    return {
      status: 200,
      headers: new Headers({ 'cache-control': 'max-age=60' }),
      text: async () => answer,
    }
  })
  after(() => attestation.attestationVerifiers[Symbol.asyncDispose]())
  const register = async (
    bend: (chain: readonly string[]) => readonly string[] = (chain) => chain,
  ) => {
    const { certificate_chain } = androidKey().register(CHALLENGE) as {
      certificate_chain: readonly string[]
    }
    const registered = await attestation.attestationVerifiers['android-key']?.verify({
      challenge: CHALLENGE,
      certificate_chain: [...bend(certificate_chain)],
    })
    return registered?.ok === true
      ? 'ok'
      : `${registered?.refusal.reason} ${registered?.refusal.step}`
  }
  assert.equal(await register((chain) => chain.toReversed()), 'attestation_invalid self_issued')
  assert.equal(asked, 0)
  answer = ''
  assert.equal(await register(), 'overloaded revocation_unknown')
  answer = '{"entries":{"3":{"status":"REVOKED"}}}'
  clock.advance(60_000)
  assert.equal(await register(), 'attestation_invalid revoked')
  // What another phone's chain was asked about is not held against this one.
  const other = await attestation.attestationVerifiers.webauthn?.verify({
    challenge: CHALLENGE,
    ...webauthnKey().register(CHALLENGE),
  } as never)
  assert.equal(other?.ok, true)
  answer = '{"entries":{}}'
  clock.advance(60_000)
  // The list within its grace answers; the newer one serves the next.
  await register()
  assert.equal(await register(), 'ok')
})

test('a worker of long work gives way: on Linux it has a lower priority than the event loop, which keeps its own', {
  skip: process.platform !== 'linux' && 'only Linux has priorities of threads',
}, async () => {
  const before = getPriority()
  const worker = new Worker(new URL('../../workers/priority-worker.ts', import.meta.url))
  const [theirs] = await new Promise<[number]>((resolve) =>
    worker.once('message', (message: number) => resolve([message])),
  )
  await worker.terminate()
  assert.ok(theirs > before, `${theirs} is not behind ${before}`)
  assert.equal(getPriority(), before)
})

test('a service that was itself started at a low priority keeps its workers behind it, and they work', {
  skip: process.platform !== 'linux' && 'only Linux has priorities of threads',
}, () => {
  const worker = join(import.meta.dirname, '../../workers/priority-worker.ts')
  const start = `new (require('node:worker_threads').Worker)(${JSON.stringify(worker)}).once('message', (theirs) => console.log(os.getPriority(), theirs))`
  for (const [nice, theirs] of [
    [15, 19],
    [19, 19],
  ]) {
    const args = ['-n', String(nice), process.execPath, '--conditions=@bonded/source', '-e', start]
    assert.equal(spawnSync('nice', args, { encoding: 'utf8' }).stdout.trim(), `${nice} ${theirs}`)
  }
})
