import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession, FullSession } from '@bonded/contract'
import { browserMissing } from '../../../tests/browser.ts'
import {
  type Recording,
  readRecordings,
  recordingsMissing,
} from '../../../scripts/continuity/recordings.ts'
import { KNOWN_KEY_AGE_MS } from '../../core/src/domain/lifetimes.ts'
import { readQrFrom } from '../../widget/tests/read-qr.ts'
import { DescribedBackend, openDescribedSite, SITE } from './described-site.ts'
import { installSensors, replay } from './motion-driver.ts'
import { press, recordPrompts, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const OPTIONS = { skip: browserMissing || recordingsMissing, timeout: 240_000 }

/** A production tenant with the default policy, and a user with an ordinary phone and no app. */
async function start() {
  const sandbox = await Sandbox.start({ environment: 'production', site: SITE })
  const phone = await sandbox.phone()
  const { page } = phone
  await installSensors(page, 'granted')
  const prompts = await recordPrompts(page)
  const approve = async (universal_link: string, recording: Recording) => {
    prompts.length = 0
    await phone.open({ universal_link })
    await replay(sandbox, page, recording, { seconds: 20 })
    await press(page, 'Approve')
  }
  return { sandbox, phone, prompts, approve, backend: new DescribedBackend(sandbox) }
}

/** What one visit ended with, on all sides. */
interface Visited {
  readonly session: FullSession
  readonly verdict: readonly string[]
  readonly prompts: readonly string[]
}

/**
 * Visits as a user whom the tenant does not know, and a day later as the one that it has named.
 * Each visit has a recording of its own.
 */
async function visitTwice(
  sandbox: Sandbox,
  visit: (recording: Recording, body?: object) => Promise<Visited>,
) {
  const [one, other] = readRecordings().filter(({ samples }) => samples.length > 60 * 60)
  assert.ok(one && other)
  const first = await visit(one)
  const { verification, subject_ref } = first.session
  assert.deepEqual(first.verdict, ['review: confidence'])
  assert.ok((verification?.sensor_continuity.continuity_score ?? 0) >= 0.6)
  assert.equal(verification?.key_attested, false)
  assert.deepEqual(first.prompts, ['create', 'get'])

  sandbox.advance(KNOWN_KEY_AGE_MS)
  const second = await visit(other, { subject_ref })
  assert.deepEqual(second.verdict, [])
  assert.equal(second.session.verification?.assertion_band, 'medium')
  assert.deepEqual(second.prompts, ['get'])
}

test(
  'a first visit without an app is in review for its confidence alone, and a named user’s visit a day later is accepted',
  OPTIONS,
  async () => {
    const { sandbox, phone, prompts, approve, backend } = await start()
    await using _ = sandbox
    const visit = async (recording: Recording, body: object = {}) => {
      const created = await backend.create(body)
      await approve(created.universal_link, recording)
      await screen(phone.page, 'approved')
      const session = await sandbox.stateOf(created)
      assert.deepEqual(await backend.submit({}), ['reject: no session id'])
      const verdict = await backend.submit({ session_id: created.id })
      assert.equal((await sandbox.stateOf(created)).state, 'completed')
      return { session, verdict, prompts: [...prompts] }
    }

    await visitTwice(sandbox, visit)
  },
)

test(
  'the two visits end the same with the hosted widget when the page has the described members only',
  OPTIONS,
  async () => {
    const { sandbox, phone, prompts, approve, backend } = await start()
    await using _ = sandbox
    const visit = async (recording: Recording, body: object = {}) => {
      const { page, created, result } = await openDescribedSite(sandbox, backend, body)
      const { id, universal_link }: CreatedSession = await created
      await page.locator('[data-breached=false] .qr path + path').waitFor()
      // What a phone's camera reads from the screen.
      const link = await readQrFrom(page)
      assert.equal(link.split('&')[0], universal_link.split('&')[0])
      await approve(link, recording)
      const { outcome, verdict } = await result()
      await screen(phone.page, 'completed')
      assert.deepEqual(outcome, { state: 'bonded', sessionId: id })
      const session = await sandbox.stateOf({ id })
      assert.equal(session.state, 'completed')
      await page.context().close()
      return { session, verdict, prompts: [...prompts] }
    }

    await visitTwice(sandbox, visit)
  },
)
