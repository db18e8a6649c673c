import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionId, SubjectId } from '@bonded/contract'
import { eraseSubject } from '../../../core/src/operations/admin/erase-subject.ts'
import { exportSubject } from '../../../core/src/operations/admin/export-subject.ts'
import { createEndpoint } from '../../../core/src/operations/admin/webhooks.ts'
import { purgeSessions } from '../../../core/src/operations/maintenance/purge-sessions.ts'
import { prometheusMeter } from '../../src/adapters/meter/prometheus-meter.ts'
import { openChannel } from '../../../../tests/harness/channel.ts'
import { SHOP_ORIGIN } from '../../../../tests/harness/harness.ts'
import { HOUR, inboxHarness, reasonOf } from '../../../../tests/harness/inbox.ts'
import { quorumHarness } from '../../../../tests/harness/quorum.ts'
import { ECHO } from '../subject/erased-user.ts'
import { dump } from '../subject/stored-bytes.ts'

const NOTE = 'The invoice is of 8 March, not of 3 August'
const DAY = 24 * HOUR

test('the backend reads why a user declined, and reads null of every other session', async () => {
  await using scene = await inboxHarness()
  const { h, phone, ask } = scene
  const { session, listed } = await ask()
  assert.equal(session.decline_note, null)
  await h.claim(phone, listed)
  assert.equal((await h.get(session)).body.decline_note, null)
  assert.equal((await h.decline(phone, listed, 'user_declined', { note: NOTE })).status, 200)
  const { state, ended_reason, decline_note } = (await h.get(session)).body
  assert.deepEqual([state, ended_reason, decline_note], ['killed', 'user_declined', NOTE])
  h.clock.advance(60_000)
  const silent = await ask()
  await h.decline(phone, silent.listed)
  assert.equal((await h.get(silent.session)).body.decline_note, null)
})

test('the backend reads of a quorum why one declined, also after an approval', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const quorum = await scene.ask()
  const approved = await scene.approve(people[0], quorum)
  const declined = await h.decline(people[0].phone, approved, 'user_declined', { note: NOTE })
  assert.equal(declined.status, 200, declined.text)
  const notes = (await scene.read(quorum)).sessions.map(
    ({ id, decline_note: note }) => [id, note] as const,
  )
  assert.deepEqual(
    new Map(notes),
    new Map(quorum.sessions.map(({ id }) => [id, id === approved.id ? NOTE : null])),
  )
})

test('only the backend reads a note, which is in no other reply, event, log line or row', async () => {
  const meter = prometheusMeter({ version: '0.0.0' })
  await using scene = await quorumHarness({ webhooks: ECHO, meter })
  const { h, people } = scene
  const [ann, bob, cy] = people
  const url = 'https://hooks.example/all'
  await createEndpoint(h.service, { tenantId: h.shop.tenant.id, url, events: null, scheme: 'v1' })
  const quorum = await scene.ask()
  const opened = []
  for (const person of people) opened.push(await scene.sessionOf(person, quorum))
  const [ofAnn, ofBob] = opened
  assert.ok(ofAnn !== undefined && ofBob !== undefined)
  await h.claim(ann.phone, ofAnn)
  const claimed = await h.claim(bob.phone, ofBob)
  const watched = { id: ofBob.id, watch_token: ofBob.watch_token }
  const ofPage = openChannel(h.running.port, watched, { key: h.shop.publishable })
  const ofPhone = openChannel(h.running.port, {
    id: ofBob.id,
    watch_token: claimed.body.watch_token,
  })
  await Promise.all([ofPage.next(), ofPhone.next()])
  const declined = await h.decline(bob.phone, ofBob, 'user_declined', { note: NOTE })
  assert.equal(declined.status, 200, declined.text)
  const { server, publishable } = h.shop
  const repeated = await h.decline(bob.phone, ofBob, 'user_declined', { note: NOTE })
  const read = (token: string, path: string) => h.api('GET', path, { token })
  const places = {
    decline: declined.body,
    'a repeated decline': repeated.body,
    'the phone that declined': await h.view(bob.phone, ofBob),
    'another phone of the quorum': await h.view(ann.phone, ofAnn),
    'its inbox': await scene.listed(cy),
    'the inbox of the phone that declined': await scene.listed(bob),
    'the watch token': (
      await h.api('GET', `/sessions/${ofBob.id}`, {
        token: publishable,
        headers: { origin: SHOP_ORIGIN, 'x-bond-watch': ofBob.watch_token },
      })
    ).body,
    'the channel of a page': await ofPage.next(),
    'the channel of a phone': await ofPhone.next(),
    timeline: (await read(server, `/sessions/${ofBob.id}/timeline`)).body,
    receipt: (await read(server, `/sessions/${ofBob.id}/receipt`)).body,
    rejections: (await read(server, `/rejections?session_id=${ofBob.id}`)).body,
    'another session of the quorum': (await h.get(ofAnn)).body,
    'the audit log': await h.service.store.read(({ audit }) => audit.list({ limit: 99 })),
    metrics: await meter.read(),
    log: h.lines,
  }
  for (const [place, content] of Object.entries(places))
    assert.ok(!JSON.stringify(content).includes(NOTE), place)
  const tables = [...(await dump(h))].filter(([, rows]) => rows.some((row) => row.includes(NOTE)))
  assert.deepEqual(
    tables.map(([table, rows]) => [table, rows.filter((row) => row.includes(NOTE)).length]),
    [['session', 1]],
  )
  assert.ok((await dump(h)).get('webhook_delivery')?.some((row) => row.includes('user_declined')))
})

test('a note is in the export of its user, and an erasure deletes it', async () => {
  await using scene = await inboxHarness()
  const { h, phone, ask } = scene
  const { listed } = await ask()
  await h.decline(phone, listed, 'user_declined', { note: NOTE })
  const user = phone.subject_id as SubjectId
  assert.ok(JSON.stringify(await exportSubject(h.service, user)).includes(NOTE))
  await eraseSubject(h.service, user)
  assert.ok(!JSON.stringify([...(await dump(h))]).includes(NOTE))
})

test('a note is read for an hour, and is deleted with its session', async () => {
  await using scene = await inboxHarness()
  const { h, phone, ask } = scene
  const { session, listed } = await ask()
  await h.decline(phone, listed, 'user_declined', { note: NOTE })
  h.clock.advance(HOUR - 1)
  assert.equal((await h.get(session)).body.decline_note, NOTE)
  h.clock.advance(1)
  assert.equal((await h.get(session)).status, 404)
  h.clock.advance(DAY)
  while ((await purgeSessions(h.service)).more);
  assert.ok(!JSON.stringify([...(await dump(h))]).includes(NOTE))
})

test('rejects a note of a report or on a page, and text against the rules, and ends nothing', async () => {
  await using scene = await inboxHarness()
  const { h, phone, ask } = scene
  const { session, listed } = await ask()
  await h.claim(phone, listed)
  const refused = async (at: { id: string; nonce: string }, note: string, reason?: string) => {
    const { status, body } = await h.decline(phone, at, reason, { note })
    return [status, body.error?.reason, body.error?.param]
  }
  const fault = [400, 'invalid_member', 'note']
  assert.deepEqual(await refused(listed, NOTE, 'user_unexpected'), fault)
  const texts = ['', ' ', 'two  spaces', 'two\nlines', '\u202eright to left', 'a'.repeat(201)]
  for (const text of texts) assert.deepEqual(await refused(listed, text), fault, text)
  const onPage = await h.create({ workflow: 'page' })
  await h.claim(phone, onPage)
  assert.deepEqual(await refused(onPage, NOTE), fault)
  // A stranger learns neither of the two.
  const stranger = await h.register()
  const guess = await h.decline(stranger, { ...onPage, nonce: 'A'.repeat(43) }, 'user_declined', {
    note: NOTE,
  })
  assert.equal(reasonOf(guess), 'nonce_mismatch')
  for (const { id } of [session, onPage]) {
    const { body } = await h.get({ id })
    assert.deepEqual([body.state, body.decline_note], ['pending', null])
    const entries = await h.service.store.read(({ sessions }) => sessions.timeline(id as SessionId))
    assert.ok(entries.every(({ reason }) => reason !== 'invalid_member'))
  }
  assert.equal((await h.decline(phone, onPage)).status, 200)
})

test('the longest note is accepted, with every character written as JSON escapes', async () => {
  await using scene = await inboxHarness()
  const { h, phone, ask } = scene
  const { session, listed } = await ask()
  const note = '🐢'.repeat(200)
  const escaped = '\\ud83d\\udc22'.repeat(200)
  const members = { nonce: listed.nonce, device_id: phone.device_id, reason: 'user_declined' }
  const text = `${JSON.stringify(members).slice(0, -1)},"note":"${escaped}"}`
  const declined = await h.api('POST', `/sessions/${session.id}/decline`, {
    token: phone.device_token,
    raw: text,
  })
  assert.equal(declined.status, 200, declined.text)
  assert.equal((await h.get(session)).body.decline_note, note)
})
