import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { browserMissing } from '../../../tests/browser.ts'
import { readRecordings, recordingsMissing } from '../../../scripts/continuity/recordings.ts'
import { installSensors, replay } from './motion-driver.ts'
import { press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

interface Pending {
  readonly workflow: string
  readonly action: string
}

/** The session as a backend reads it from JSON: nothing is known of it. */
interface ReadSession {
  readonly state?: unknown
  readonly workflow?: unknown
  readonly action?: unknown
  readonly expires_at?: unknown
  readonly verification?: {
    readonly device_possession?: unknown
    readonly local_auth?: unknown
    readonly human_presence_confidence?: number
    readonly assertion_confidence?: number
    readonly carrier?: { readonly sim_swap_recent?: unknown }
    readonly sensor_continuity?: { readonly continuity_score?: number }
  } | null
}

/** Steps 2 to 7 of the API description, part 4, as an integrator writes them without a library. */
function judge(session: ReadSession, pending: Pending | undefined): readonly string[] {
  const expected = { workflow: 'credit_application', action: 'submit_application' }
  if (session.state !== 'bonded') return ['reject: not bonded']
  if (session.workflow !== expected.workflow || session.action !== expected.action)
    return ['reject: other action']
  if (!(Date.parse(String(session.expires_at)) > Date.now())) return ['reject: expired']
  if (pending?.workflow !== expected.workflow || pending.action !== expected.action)
    return ['reject: not ours']
  const { verification } = session
  if (!verification || verification.device_possession !== true) return ['reject: no possession']
  if (verification.local_auth !== 'verified') return ['reject: no local authentication']
  const confidence =
    verification.human_presence_confidence ?? verification.assertion_confidence ?? 0
  const review: string[] = []
  if (confidence < 0.55) review.push('review: confidence')
  if (verification.carrier?.sim_swap_recent === true) review.push('review: SIM swap')
  if ((verification.sensor_continuity?.continuity_score ?? 0) < 0.6)
    review.push('review: continuity')
  return review
}

test('a first visit without an app is in review for its confidence alone, and a named user’s second visit is accepted', {
  skip: browserMissing || recordingsMissing,
  timeout: 240_000,
}, async () => {
  const [one, other] = readRecordings().filter(({ samples }) => samples.length > 60 * 60)
  assert.ok(one && other)
  await using sandbox = await Sandbox.start({ environment: 'production' })
  const phone = await sandbox.phone()
  const { page } = phone
  await installSensors(page, 'granted')
  // Counts what the platform would ask the user.
  let prompts: string[] = []
  await page.exposeFunction('prompted', (kind: string) => void prompts.push(kind))
  await page.addInitScript(`for (const kind of ['create', 'get']) {
    const ask = CredentialsContainer.prototype[kind]
    CredentialsContainer.prototype[kind] = function (options) {
      prompted(kind)
      return ask.call(this, options)
    }
  }`)
  const pending = new Map<string, Pending>()

  /** One visit. The backend completes the session after its action, or after it files the review. */
  const visit = async (recording: typeof one, body: object = {}) => {
    prompts = []
    const created: CreatedSession = await sandbox.create(body)
    pending.set(created.id, { workflow: 'credit_application', action: 'submit_application' })
    await phone.open(created)
    await replay(sandbox, page, recording, { seconds: 20 })
    await press(page, 'Approve')
    await screen(page, 'approved')
    const session = await sandbox.stateOf(created)
    const verdict = judge(session, pending.get(created.id))
    await sandbox.complete(created)
    assert.equal((await sandbox.stateOf(created)).state, 'completed')
    return { session, verdict }
  }

  const first = await visit(one)
  const { verification, subject_ref } = first.session
  assert.deepEqual(first.verdict, ['review: confidence'])
  assert.ok((verification?.sensor_continuity.continuity_score ?? 0) >= 0.6)
  assert.equal(verification?.key_attested, false)
  assert.deepEqual(prompts, ['create', 'get'])

  const second = await visit(other, { subject_ref })
  assert.deepEqual(second.verdict, [])
  assert.equal(second.session.verification?.assertion_band, 'medium')
  assert.deepEqual(prompts, ['get'])
  await phone.context.close()
})
