import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApprovals, memoryApprovalStore } from '../../../integrator/src/approval/approval.ts'
import type { FetchLike } from '../../../integrator/src/service/call.ts'
import { PUBLIC_ORIGIN } from '../../../../tests/harness/harness.ts'
import { HOUR } from '../../../../tests/harness/inbox.ts'
import { type Person, quorumHarness } from '../../../../tests/harness/quorum.ts'

const ARGS = { to: 'DE02 1203 0000 0000 2020 51', cents: 125_000 }
const OWNER = 'agent-1'

/** The library of a backend on the service itself, and the phones of three people. */
async function scene() {
  const parts = await quorumHarness()
  const { h, refs } = parts
  const fetch: FetchLike = async (url, { method, headers, body }) => {
    const answer = await h.api(method, url.split('/api/v1')[1] ?? '', {
      headers,
      ...(body !== undefined && { body: JSON.parse(body) }),
    })
    return {
      status: answer.status,
      headers: { get: (name) => String(answer.headers[name.toLowerCase()] ?? '') || null },
      text: async () => answer.text,
    }
  }
  const approvals = createApprovals<typeof ARGS>({
    service: { baseUrl: PUBLIC_ORIGIN, serverCredential: h.shop.server, fetch },
    store: memoryApprovalStore(),
    workflow: 'wire',
    action: 'act',
    version: '1',
    describe: ({ to }) => [{ label: 'To', value: to }],
    quorum: { minimum: 2 },
  })
  const people = refs.map((ref, index) => ({ person: `person ${index}`, ref }))
  const ask = async () => {
    const requester = { kind: 'agent', name: 'Invoice agent' } as const
    const request = { owner: OWNER, requester, args: ARGS, people, needed: 2, maker: 'dora' }
    const { id } = await approvals.request(request)
    const { body: quorum } = await parts.tryRead(id)
    return { ref: { id, owner: OWNER }, quorum }
  }
  const execute = async (ref: { id: string; owner: string }) => {
    let runs = 0
    const end = await approvals
      .execute({ ...ref, args: ARGS }, async () => ((runs += 1), 'sent'))
      .catch(({ code, reasons = [] }) => [code, ...reasons].join(' '))
    return { end, runs }
  }
  return { ...parts, approvals, ask, execute }
}
type Scene = Awaited<ReturnType<typeof scene>>
type Asked = Awaited<ReturnType<Scene['ask']>>

test('two people approve hours apart, the action runs once, and the third is asked no more', async () => {
  await using parts = await scene()
  const { h, people, approvals, execute } = parts
  const { ref, quorum } = await parts.ask()
  const session = await parts.approve(people[0], quorum)
  const { context } = await h.view(people[0].phone, session)
  assert.equal(context?.text, `{\n  "cents": 125000,\n  "to": "${ARGS.to}"\n}`)
  assert.deepEqual(context?.quorum, { id: ref.id, needed: 2, of: 3 })
  assert.deepEqual(await execute(ref), { end: 'not_approved too_few_approvals', runs: 0 })
  h.clock.advance(8 * HOUR)
  await parts.approve(people[1], quorum)
  assert.deepEqual(await approvals.progress(ref), {
    state: 'approved',
    approved: 2,
    needed: 2,
    note: null,
  })
  assert.deepEqual(await execute(ref), { end: 'sent', runs: 1 })
  assert.equal(await parts.states(quorum), 'completed completed decided')
  assert.deepEqual(await execute(ref), { end: 'already_executed', runs: 0 })
})

/** What one user does between the first and the second approval, and what becomes of it. */
const BETWEEN: Readonly<
  Record<
    string,
    [(parts: Scene, asked: Asked, own: SessionRef) => Promise<unknown>, string, string]
  >
> = {
  'takes the approval back': [
    ({ h, people }, _asked, own) => h.decline(people[0].phone, own),
    'not_approved declined',
    'declined',
  ],
  'reports the approved request': [
    ({ h, people }, _asked, own) => h.decline(people[0].phone, own, 'user_unexpected'),
    'not_approved declined',
    'reported',
  ],
  'is blocked by the tenant': [
    ({ h, people: [{ subjectRef }] }) =>
      h.api('POST', `/subjects/${subjectRef}/block`, { token: h.shop.server }),
    'not_approved too_few_approvals',
    'waiting',
  ],
  'removes the phone': [
    ({ h, people }) => h.removeKey(people[0].phone),
    'not_approved too_few_approvals',
    'waiting',
  ],
}
type SessionRef = Awaited<ReturnType<Scene['approve']>>

for (const [what, [act, end, state]] of Object.entries(BETWEEN))
  test(`nothing runs if the first of two people ${what} before the second approves`, async () => {
    await using parts = await scene()
    const asked = await parts.ask()
    const { ref, quorum } = asked
    const own = await parts.approve(parts.people[0], quorum)
    await act(parts, asked, own)
    await parts.approve(parts.people[1], quorum).catch(() => {})
    assert.deepEqual(await parts.execute(ref), { end, runs: 0 })
    assert.equal(await parts.approvals.status(ref), state)
  })

test('a no of the third user after two approvals counts until the action begins', async () => {
  await using parts = await scene()
  const { h, people } = parts
  const { ref, quorum } = await parts.ask()
  const others: readonly Person[] = people.slice(0, 2)
  for (const person of others) await parts.approve(person, quorum)
  await h.decline(people[2].phone, await parts.sessionOf(people[2], quorum))
  assert.deepEqual(await parts.execute(ref), { end: 'not_approved declined', runs: 0 })
  h.clock.advance(HOUR)
  assert.deepEqual(await parts.execute(ref), { end: 'not_approved declined', runs: 0 })
})

test('a withdrawn request leaves every inbox', async () => {
  await using parts = await scene()
  const { ref, quorum } = await parts.ask()
  await parts.approvals.withdraw(ref)
  assert.deepEqual(await parts.listed(parts.people[1]), [])
  assert.equal(await parts.states(quorum), Array(3).fill('killed_by_tenant').join(' '))
})
