import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type DeviceId,
  type FullSession,
  judgeSubmit,
  type SubjectId,
  type Workflow,
} from '@bonded/contract'
import { eraseSubject } from '@bonded/core/operations/admin/erase-subject'
import { moveDevice } from '@bonded/core/operations/admin/devices'
import { changeSubject } from '@bonded/core/operations/admin/subjects'
import { purgeSessions } from '@bonded/core/operations/maintenance/purge-sessions'
import { judgeSubmit as judgeByOlderGate } from '../../../contract/tests/older-gate.ts'
import { NO_QUORUM } from '../../../../tests/harness/valid-requests.ts'
import { HOUR, inboxRequest, reasonOf } from '../../../../tests/harness/inbox.ts'
import { type Person, quorumHarness } from '../../../../tests/harness/quorum.ts'

type Scene = Awaited<ReturnType<typeof quorumHarness>>
const MINUTE = 60_000

/** The first batch only counts the sessions. */
async function purgeAll({ h }: Scene): Promise<void> {
  while ((await purgeSessions(h.service)).more);
}

/** What a gate for one user says, where it accepts any context. */
const gate = (session: FullSession, judge: typeof judgeSubmit = judgeSubmit) =>
  judge({
    session_id: session.id,
    session,
    owner: 'maker',
    pending: { workflow: 'wire', action: 'act', owner: 'maker' },
    expected: { workflow: 'wire', action: 'act', acceptAnyContext: true },
    now: Date.parse(session.server_time),
  }).reasons[0]

test('two of three people approve, and the third is asked no more once the action is completed', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const [ann, bob, cy] = people
  const quorum = await scene.ask()
  assert.match(quorum.quorum_id, /^quo_\w{22}$/)
  assert.deepEqual([quorum.needed, quorum.of, quorum.sessions.length], [2, 3, 3])
  const first = await scene.approve(ann, quorum)
  assert.deepEqual((await h.view(ann.phone, first)).context?.quorum, {
    id: quorum.quorum_id,
    needed: 2,
    of: 3,
  })
  assert.deepEqual(await scene.judge(quorum), {
    decision: 'reject',
    reasons: ['too_few_approvals'],
    approved: [first.id],
  })
  const second = await scene.approve(bob, quorum)
  const { decision, approved } = await scene.judge(quorum)
  assert.deepEqual(
    [decision, [...approved].toSorted()],
    ['accept', [first.id, second.id].toSorted()],
  )
  const third = await scene.sessionOf(cy, quorum)
  await h.claim(cy.phone, third)
  const accepted = { 'x-bond-outcome': 'accepted' }
  assert.equal((await h.complete(first, accepted)).status, 200)
  assert.equal(await scene.states(quorum), 'bonded completed decided')
  assert.equal((await h.view(cy.phone, third)).ended_reason, 'decided')
  assert.equal(reasonOf(await h.claim(cy.phone, third)), 'session_not_live')
  assert.equal((await h.complete(second, accepted)).status, 200)
  assert.equal((await scene.judge(quorum)).decision, 'reject')
})

test('a session of a quorum has its verification beside the others only', async () => {
  await using scene = await quorumHarness()
  const [ann] = scene.people
  const quorum = await scene.ask()
  const { id } = await scene.approve(ann, quorum)
  const alone: FullSession = (await scene.h.get({ id })).body
  assert.deepEqual([alone.state, alone.verification], ['bonded', null])
  assert.equal(gate(alone), 'one_of_several')
  assert.equal(gate(alone, judgeByOlderGate), 'verification_missing')
  const beside = (await scene.read(quorum)).sessions.find((each) => each.id === id) as FullSession
  assert.equal(beside.verification?.device_possession, true)
  assert.equal(gate(beside), 'one_of_several')
})

test('a create names the reference at fault, and stores nothing', async () => {
  await using scene = await quorumHarness()
  const { refs, people } = scene
  const [ann = '', bob = '', cy = ''] = refs
  const unknown = 'u'.repeat(43)
  const why = async (given: object) => {
    const { status, body } = await scene.tryCreate(given, { headers: { 'idempotency-key': 'k' } })
    return [status, body.error.reason, body.error.param]
  }
  assert.deepEqual(await why({ subject_refs: [ann, ann] }), [400, 'invalid_member', 'subject_refs'])
  assert.deepEqual(await why({ subject_refs: [ann] }), [400, 'invalid_member', 'subject_refs'])
  assert.deepEqual(await why({ maker_ref: bob }), [400, 'invalid_member', 'subject_refs.1'])
  assert.deepEqual(await why({ maker_ref: undefined }), [400, 'missing_member', 'maker_ref'])
  assert.deepEqual(await why({ needed: 4 }), [400, 'invalid_member', 'needed'])
  assert.deepEqual(await why({ needed: 1 }), [400, 'invalid_member', 'needed'])
  assert.deepEqual(await why({ workflow: 'page' }), [400, 'invalid_member', 'workflow'])
  assert.deepEqual(await why({ action: 'other' }), [400, 'action_unknown', 'action'])
  assert.deepEqual(await why({ subject_refs: [ann, bob, unknown] }), [
    400,
    'subject_has_no_phone',
    'subject_refs.2',
  ])
  const quorum = { id: `quo_${'0'.repeat(22)}`, needed: 2, of: 2 }
  assert.deepEqual(await why({ context: { display: [], quorum } }), [
    400,
    'unknown_member',
    'context.quorum',
  ])
  await scene.h.api('POST', '/sessions', {
    token: scene.h.shop.server,
    body: { workflow: 'agent', subject_ref: cy },
  })
  for (let n = 1; n < 4; n++)
    assert.equal((await scene.tryCreate({ workflow: 'day', subject_refs: [ann, cy] })).status, 201)
  assert.deepEqual(await why({ subject_refs: [bob, cy] }), [429, 'inbox_full', 'subject_refs.1'])
  assert.equal((await scene.listed(people[1])).length, 0)
})

test('a workflow with a quorum creates neither a session of one user nor a smaller quorum', async () => {
  const strict: Workflow = {
    name: 'board',
    actions: ['act'],
    delivery: 'inbox',
    quorum: { needed: 3 },
  }
  await using scene = await quorumHarness({
    workflows: [{ name: 'page', actions: ['act'] }, strict],
  })
  const [subject_ref] = scene.refs
  const one = await scene.h.api('POST', '/sessions', {
    token: scene.h.shop.server,
    body: { workflow: 'board', subject_ref },
  })
  assert.deepEqual([reasonOf(one), one.body.error.param], ['quorum_required', 'workflow'])
  const two = await scene.tryCreate({ workflow: 'board' })
  assert.deepEqual([reasonOf(two), two.body.error.param], ['quorum_required', 'needed'])
  assert.equal((await scene.tryCreate({ workflow: 'board', needed: 3 })).status, 201)
})

test('a phone that does not say that it shows the rule can only decline', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const [{ phone }] = people
  const session = await scene.sessionOf(people[0], await scene.ask())
  const claim = await h.api('POST', `/sessions/${session.id}/claim`, {
    token: phone.device_token,
    body: {
      nonce: session.nonce,
      device_id: phone.device_id,
      shows: ['directional_marks', 'text', 'requester'],
    },
  })
  assert.deepEqual([reasonOf(claim), claim.body.error.param], ['key_format_not_accepted', 'shows'])
  assert.equal((await h.decline(phone, session)).status, 200)
})

test('the same Idempotency-Key returns the same quorum, as it is now, for as long as it can be read', async () => {
  await using scene = await quorumHarness()
  const [ann] = scene.people
  const headers = { 'idempotency-key': 'one' }
  const first = (await scene.tryCreate({}, { headers })).body
  await scene.approve(ann, first)
  scene.h.clock.advance(25 * HOUR)
  await purgeAll(scene)
  const again = (await scene.tryCreate({}, { headers })).body
  const idsOf = ({ sessions }: { sessions: FullSession[] }) =>
    sessions.map(({ id }) => id).toSorted()
  assert.equal(again.quorum_id, first.quorum_id)
  assert.deepEqual(idsOf(again), idsOf(first))
  assert.equal(again.sessions[0].state, 'expired')
  const secretsOf = ({ sessions }: { sessions: { completion_secret: string }[] }) =>
    sessions.map((each) => each.completion_secret).toSorted()
  assert.deepEqual(secretsOf(again), secretsOf(first))
  const other = await scene.tryCreate({ needed: 3 }, { headers })
  assert.equal(reasonOf(other), 'idempotency_mismatch')
})

test('a quorum is of the tenant and the scope whose credential created it', async () => {
  await using scene = await quorumHarness()
  const { h } = scene
  const { quorum_id } = await scene.ask()
  const other = await h.addTenant({ name: 'Other' })
  const narrow = await h.addKeys(h.shop.tenant, [{ workflow: 'day', actions: null }])
  for (const token of [other.server, narrow.server]) {
    const reply = await scene.tryRead(quorum_id, token)
    assert.deepEqual([reply.status, reasonOf(reply)], [404, 'session_not_found'])
  }
  assert.equal((await scene.tryRead(NO_QUORUM.quorum_id)).status, 404)
  assert.equal((await scene.tryRead('quo_x')).status, 404)
})

test('all approvals end together, 15 minutes after the last moment to answer', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const quorum = await scene.ask()
  await scene.approve(people[0], quorum)
  h.clock.advance(24 * HOUR - 1)
  await scene.approve(people[1], quorum)
  const ends = (await scene.read(quorum)).sessions.filter(({ state }) => state === 'bonded')
  const createdAt = h.clock.now() - (24 * HOUR - 1)
  for (const { expires_at } of ends)
    assert.equal(Date.parse(expires_at), createdAt + 24 * HOUR + 15 * MINUTE)
  h.clock.advance(15 * MINUTE)
  assert.equal((await scene.judge(quorum)).decision, 'accept')
  assert.equal(await scene.states(quorum), 'bonded bonded expired')
  h.clock.advance(1)
  assert.equal(await scene.states(quorum), 'expired expired expired')
  assert.equal((await scene.judge(quorum)).decision, 'reject')
})

test('one no ends the sessions of all, and is readable until an hour after the end of the quorum', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const [ann, bob, cy] = people
  const quorum = await scene.ask()
  const approved = await scene.approve(ann, quorum)
  const open = await scene.sessionOf(cy, quorum)
  await h.decline(bob.phone, await scene.sessionOf(bob, quorum))
  assert.equal(await scene.states(quorum), 'decided decided user_declined')
  assert.equal((await h.view(ann.phone, approved)).ended_reason, 'decided')
  assert.equal(reasonOf(await h.claim(cy.phone, open)), 'session_not_live')
  assert.equal(reasonOf(await h.complete(approved)), 'session_not_bonded')
  h.clock.advance(25 * HOUR + 15 * MINUTE - 1)
  await purgeAll(scene)
  assert.deepEqual((await scene.judge(quorum)).reasons, ['declined'])
  h.clock.advance(1)
  assert.equal((await scene.tryRead(quorum.quorum_id)).status, 404)
  await purgeAll(scene)
  assert.equal((await h.get(approved)).status, 404)
})

test('a user takes an approval back hours later, which ends the quorum', async () => {
  for (const reason of ['user_declined', 'user_unexpected']) {
    await using scene = await quorumHarness()
    const { h, people } = scene
    const [ann, bob] = people
    const quorum = await scene.ask()
    const session = await scene.approve(ann, quorum)
    h.clock.advance(8 * HOUR)
    assert.equal(reasonOf(await h.decline(bob.phone, session)), 'challenge_expired')
    const unknown = { id: session.id, nonce: 'n'.repeat(43) }
    assert.equal(reasonOf(await h.decline(ann.phone, unknown)), 'nonce_mismatch')
    assert.equal((await h.decline(ann.phone, session, reason)).body.state, 'killed')
    assert.equal(await scene.states(quorum), `decided decided ${reason}`)
    assert.deepEqual((await scene.judge(quorum)).reasons, ['declined'])
  }
})

test('of two noes at once, and of a no and a completion at once, one comes first', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const [ann, bob] = people
  const [declined, approved] = [await scene.ask(), await scene.ask()]
  const first = await scene.approve(ann, approved)
  const second = await scene.approve(bob, approved)
  const noes = [await scene.sessionOf(ann, declined), await scene.sessionOf(bob, declined)] as const
  const answers = [h.decline(ann.phone, noes[0]), h.decline(bob.phone, noes[1])]
  const statuses = (await Promise.all(answers)).map(({ status }) => status)
  assert.deepEqual(new Set(statuses), new Set([200, 400]))
  assert.equal(await scene.states(declined), 'decided decided user_declined')
  const [completed] = await Promise.all([h.complete(first), h.decline(bob.phone, second)])
  const ends = completed.status === 200 ? 'completed decided' : 'decided decided'
  assert.equal(await scene.states(approved), `${ends} user_declined`)
})

test('an approval that is none of several cannot be taken back', async () => {
  await using scene = await quorumHarness()
  const { h, people, refs } = scene
  const [{ phone }] = people
  const { body: created } = await h.api('POST', '/sessions', {
    token: h.shop.server,
    body: { workflow: 'day', subject_ref: refs[0] },
  })
  const [item] = await scene.listed(people[0])
  const session = { ...created, nonce: item?.nonce ?? '' }
  await h.claim(phone, session)
  await h.attest(phone, await h.view(phone, session))
  assert.equal(reasonOf(await h.decline(phone, session)), 'session_not_live')
  assert.equal((await h.get(session)).body.state, 'bonded')
})

/** What makes the approval of a phone count no more, beside a no. */
const WITHDRAWALS: Readonly<Record<string, (scene: Scene, person: Person) => Promise<unknown>>> = {
  'a block of the phone': ({ h }, { phone }) =>
    moveDevice(h.service, phone.device_id as DeviceId, 'block'),
  'a block of the user by the operator': ({ h }, { phone }) =>
    changeSubject(h.service, phone.subject_id as SubjectId, 'block'),
  'a block of the user by the tenant': ({ h }, { subjectRef }) =>
    h.api('POST', `/subjects/${subjectRef}/block`, { token: h.shop.server }),
  'a removal of the phone': ({ h }, { phone }) => h.removeKey(phone),
  'a suspicion that two phones hold the key': ({ h }, { phone }) => {
    h.clock.advance(1_000)
    return h.api('POST', '/inbox', {
      token: phone.device_token,
      body: inboxRequest(phone, h.now(), { tampering: { counter: 1 } }),
    })
  },
  'a report of another request of the tenant': async ({ h, listed }, person) => {
    const body = { workflow: 'agent', subject_ref: person.subjectRef }
    await h.api('POST', '/sessions', { token: h.shop.server, body })
    const [item] = await listed(person)
    const session = { id: item?.session_id ?? '', nonce: item?.nonce ?? '' }
    assert.equal((await h.decline(person.phone, session, 'user_unexpected')).status, 200)
  },
}

for (const [what, withdraw] of Object.entries(WITHDRAWALS))
  test(`${what} withdraws the approval before the second one`, async () => {
    await using scene = await quorumHarness()
    const [ann, bob] = scene.people
    const quorum = await scene.ask()
    const { id } = await scene.approve(ann, quorum)
    await withdraw(scene, ann)
    const second = await scene.approve(bob, quorum)
    assert.deepEqual(await scene.judge(quorum), {
      decision: 'reject',
      reasons: ['too_few_approvals'],
      approved: [second.id],
    })
    const { sessions } = await scene.read(quorum)
    assert.equal(sessions.find((each) => each.id === id)?.verification, null)
  })

test('a quorum of which one user was erased reads as not found', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const quorum = await scene.ask()
  await scene.approve(people[0], quorum)
  await scene.approve(people[1], quorum)
  const [, , { phone }] = people
  await eraseSubject(h.service, phone.subject_id as SubjectId)
  assert.equal((await scene.tryRead(quorum.quorum_id)).status, 404)
})

test('a report of one quorum ends the other requests of the tenant to this user, and their quorums', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const [first, second] = [await scene.ask(), await scene.ask()]
  const reported = await scene.sessionOf(people[0], first)
  await h.decline(people[0].phone, reported, 'user_unexpected')
  for (const quorum of [first, second])
    assert.equal(await scene.states(quorum), 'decided decided user_unexpected')
})

test('a session is completed only if as many people as the rule says have approved', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const quorum = await scene.ask({ needed: 3 })
  const first = await scene.approve(people[0], quorum)
  await scene.approve(people[1], quorum)
  assert.equal(reasonOf(await h.complete(first)), 'session_not_bonded')
  assert.equal(await scene.states(quorum), 'bonded bonded pending')
  await scene.approve(people[2], quorum)
  assert.equal((await h.complete(first)).status, 200)
  assert.equal((await h.complete(first)).status, 200)
})

test('what another user decided counts for the requests a minute, and begins no wait', async () => {
  await using scene = await quorumHarness()
  const { h, people, refs } = scene
  const [ann, bob] = people
  const alone = (subject_ref: string | undefined) =>
    h.api('POST', '/sessions', { token: h.shop.server, body: { workflow: 'day', subject_ref } })
  const quorum = await scene.ask({ subject_refs: refs.slice(0, 2) })
  await h.decline(ann.phone, await scene.sessionOf(ann, quorum))
  assert.equal(await scene.states(quorum), 'decided user_declined')
  const waits = await alone(ann.subjectRef)
  assert.deepEqual([reasonOf(waits), waits.headers['retry-after']], ['rate_limited', '60'])
  for (let n = 1; n < 5; n++) assert.equal((await alone(bob.subjectRef)).status, 201)
  // Makes a place for a fifth one of the minute, the sixth with the decided one.
  const [item] = await scene.listed(bob)
  const session = { id: item?.session_id ?? '', nonce: item?.nonce ?? '' }
  await h.claim(bob.phone, session)
  await h.attest(bob.phone, await h.view(bob.phone, session))
  const sixth = await alone(bob.subjectRef)
  assert.deepEqual([reasonOf(sixth), sixth.headers['retry-after']], ['rate_limited', '60'])
})

test('a phone reads neither who else is asked, nor who has answered', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const [ann, bob, cy] = people
  const quorum = await scene.ask()
  await scene.approve(ann, quorum)
  const own = await scene.sessionOf(bob, quorum)
  const view = JSON.stringify(await h.view(bob.phone, own))
  const others = quorum.sessions.map(({ id }) => id).filter((id) => id !== own.id)
  const names = [ann, cy].flatMap(({ phone, subjectRef }) => [phone.device_id, subjectRef])
  for (const name of [...others, ...names]) assert.ok(!view.includes(name), name)
})
