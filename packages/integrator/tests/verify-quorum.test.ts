import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedQuorum, FullSession } from '@bonded/contract'
import { appendReceipts } from '../../core/src/operations/receipt/receipt-log.ts'
import { type Person, quorumHarness } from '../../../tests/harness/quorum.ts'
import {
  type QuorumReceipt,
  type ReceiptKeySet,
  verifyQuorum,
  verifyReceipt,
} from '../src/index.ts'
import { verifyWitnessedQuorum } from '../src/receipt/witnesses.ts'
import { keySetOf, makeReceiptKeys, signReceipt } from '../src/testing/test-receipt.ts'

type Receipts = readonly QuorumReceipt[]
const DAY = 86_400_000
const DIGEST = 'd'.repeat(43)
const ACCEPTED = { 'x-bond-outcome': 'accepted' }

/** A service, with the receipts of what its users approve, and the verdict about them. */
async function receiptScene() {
  const scene = await quorumHarness()
  const { h } = scene
  const tenantId = h.shop.tenant.id
  const jwks = JSON.parse((await h.call('GET', '/.well-known/jwks.json')).text) as ReceiptKeySet
  const receiptOf = async ({ id }: { id: string }): Promise<Receipts[number]> => {
    const { body } = await h.api('GET', `/sessions/${id}/receipt`, { token: h.shop.server })
    return { receipt: body.receipt, proof: body.proof }
  }
  /** Has people approve, completes their sessions, and fetches the receipts. */
  const complete = async (quorum: CreatedQuorum, people: readonly Person[], outcome = ACCEPTED) => {
    const sessions = []
    for (const person of people) sessions.push(await scene.approve(person, quorum))
    for (const session of sessions) assert.equal((await h.complete(session, outcome)).status, 200)
    return Promise.all(sessions.map(receiptOf))
  }
  const verdictOf = async (receipts: Receipts, given: object = {}) => {
    const expected = { jwks, minimum: 2, tenantId, workflow: 'wire', digest: DIGEST }
    const verdict = await verifyQuorum(receipts, { ...expected, ...given })
    return verdict.decision === 'accept' ? 'accept' : verdict.reason
  }
  return { ...scene, jwks, tenantId, receiptOf, complete, verdictOf }
}

test('accepts the receipts of enough people, and what they approved', async () => {
  await using scene = await receiptScene()
  const { h, people, jwks, tenantId } = scene
  const quorum = await scene.ask()
  const receipts = await scene.complete(quorum, people.slice(0, 2))
  const expected = { jwks, minimum: 2, tenantId, workflow: 'wire', digest: DIGEST }
  const verdict = await verifyQuorum(receipts, { ...expected, issuer: 'https://bond.example' })
  assert.ok(verdict.decision === 'accept', JSON.stringify(verdict))
  const rule = { id: quorum.quorum_id, needed: 2, of: 3 }
  assert.deepEqual(verdict.rule, rule)
  assert.deepEqual(
    verdict.receipts.map(({ claims }) => [claims.subject_ref, claims.context?.quorum]),
    scene.refs.slice(0, 2).map((ref) => [ref, rule]),
  )
  // The service answers null until the log has a receipt, and no witness has signed that.
  assert.deepEqual(
    receipts.map(({ proof }) => proof),
    [null, null],
  )
  const witnesses = ['w.example+00df7ba9+BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA']
  const unproved = await verifyWitnessedQuorum(receipts, { ...expected, witnesses })
  assert.equal(unproved.decision, 'reject')
  // With the proofs of the log.
  while ((await appendReceipts(h.service)).done > 0);
  const ids = verdict.receipts.map(({ claims }) => ({ id: claims.session_id }))
  const proved = await Promise.all(ids.map(scene.receiptOf))
  assert.equal(await scene.verdictOf(proved), 'accept')
  const [one, other] = proved as [QuorumReceipt, QuorumReceipt]
  const swapped = [{ ...one, proof: other.proof }, other]
  assert.equal(await scene.verdictOf(swapped), 'not_included')
  // Each of them alone proves nothing.
  for (const { receipt } of receipts)
    assert.deepEqual(await verifyReceipt({ receipt, jwks }), {
      decision: 'reject',
      reason: 'one_of_several',
    })
})

test('rejects receipts that are not those of enough people in one quorum, by a reason', async () => {
  await using scene = await receiptScene()
  const [ann, bob] = scene.people
  const quorum = await scene.ask()
  const other = await scene.ask()
  const [first, second] = (await scene.complete(quorum, [ann, bob])) as [
    QuorumReceipt,
    QuorumReceipt,
  ]
  const [, fromOther] = (await scene.complete(other, [ann, bob])) as [QuorumReceipt, QuorumReceipt]
  const ofThree = await scene.complete(await scene.ask({ needed: 3 }), scene.people)
  const cases: readonly (readonly [
    what: string,
    receipts: Receipts,
    reason: string,
    given?: object,
  ])[] = [
    ['no receipt', [], 'too_few_receipts'],
    ['one of two', [first], 'too_few_receipts'],
    ['two of three', ofThree.slice(1), 'too_few_receipts'],
    ['one twice', [first, first], 'user_repeated'],
    ['another quorum with the same text', [first, fromOther], 'quorum_mismatch'],
    ['a lowered number of people', [first, second], 'needed_too_low', { minimum: 3 }],
    ['a minimum that is no number', [first, second], 'needed_too_low', { minimum: 'two' }],
    ['no minimum', [first, second], 'needed_too_low', { minimum: undefined }],
    ['another tenant', [first, second], 'tenant_mismatch', { tenantId: 'ten_other' }],
    ['another service', [first, second], 'issuer_mismatch', { issuer: 'https://other.example' }],
    ['another workflow', [first, second], 'workflow_mismatch', { workflow: 'day' }],
    ['another form', [first, second], 'digest_mismatch', { digest: 'e'.repeat(43) }],
    ['foreign keys', [first, second], 'key_unknown', { jwks: { keys: [] } }],
    ['what is no receipt', [first, { receipt: 'e30.e30.e30' }], 'malformed'],
  ]
  for (const [what, receipts, reason, given] of cases)
    assert.equal(await scene.verdictOf(receipts, given), reason, what)
})

test('rejects approvals that were not completed as accepted, which a block may have taken', async () => {
  await using scene = await receiptScene()
  const { h } = scene
  const [ann, bob] = scene.people
  const quorum = await scene.ask()
  const first = await scene.approve(ann, quorum)
  const second = await scene.approve(bob, quorum)
  await h.complete(first, ACCEPTED)
  const both = () => Promise.all([first, second].map(scene.receiptOf))
  assert.equal(await scene.verdictOf(await both()), 'not_completed')
  assert.equal((await h.complete(second, { 'x-bond-outcome': 'in_review' })).status, 200)
  assert.equal(await scene.verdictOf(await both()), 'not_completed')
})

test('rejects the receipt of one user alone beside that of a quorum', async () => {
  await using scene = await receiptScene()
  const { h } = scene
  const [first] = await scene.complete(await scene.ask(), scene.people.slice(0, 2))
  const { session } = await h.reach('bonded', { workflow: 'page' })
  await h.complete(session, ACCEPTED)
  const alone = await scene.receiptOf(session)
  assert.ok(first)
  assert.equal(await scene.verdictOf([first, alone]), 'workflow_mismatch')
  const given = { workflow: 'page' }
  assert.equal(await scene.verdictOf([alone], given), 'quorum_mismatch')
})

test('does not rely on the service for what the phones have signed', async () => {
  await using scene = await receiptScene()
  const quorum = await scene.ask()
  for (const person of scene.people.slice(0, 2)) await scene.approve(person, quorum)
  const { sessions, server_time } = await scene.read(quorum)
  const [one, other] = sessions
    .filter(({ state }) => state === 'bonded')
    .map((each): FullSession => ({ ...each, state: 'completed', outcome: 'accepted' }))
  assert.ok(one?.context && other)
  const [keys, second] = [await makeReceiptKeys(), await makeReceiptKeys()]
  const jwks = await keySetOf(keys)
  /** The verdict where the keys of the service and of the second phone sign this. */
  const verdictOf = async (lie: Partial<FullSession>, phone = second.phone, msEarlier = 0) => {
    const created_at = new Date(Date.parse(server_time) - msEarlier).toISOString()
    const stored = { session: one, created_at, completion_secret: '' }
    const receipts = [
      await signReceipt(keys, one, stored),
      await signReceipt(
        { ...keys, phone },
        { ...other, ...lie },
        { ...stored, created_at: server_time },
      ),
    ]
    return scene.verdictOf(
      receipts.map((receipt) => ({ receipt })),
      { jwks },
    )
  }
  const { context } = one
  const rule = { id: quorum.quorum_id, needed: 2, of: 3 }
  assert.equal(await verdictOf({}), 'accept')
  assert.equal(await verdictOf({}, keys.phone), 'user_repeated')
  assert.equal(await verdictOf({ subject_ref: one.subject_ref }), 'user_repeated')
  assert.equal(await verdictOf({ subject_ref: null }), 'user_repeated')
  for (const changed of [
    { display: [{ label: 'Amount', value: '€1' }] },
    { quorum: { ...rule, needed: 3 } },
    { quorum: { ...rule, of: 2 } },
  ])
    assert.equal(await verdictOf({ context: { ...context, ...changed } }), 'quorum_mismatch')
  const { quorum: _, ...alone } = context
  assert.equal(await verdictOf({ context: alone }), 'quorum_mismatch')
  assert.equal(await verdictOf({ state: 'bonded' }), 'not_completed')
  assert.equal(await verdictOf({ action: 'other' }), 'quorum_mismatch')
  assert.equal(await verdictOf({}, undefined, DAY), 'accept')
  assert.equal(await verdictOf({}, undefined, DAY + 1), 'too_far_apart')
})
