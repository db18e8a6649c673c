import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quorumHarness } from '../../../tests/harness/quorum.ts'
import { linkIn, pageAt } from './page-at.ts'

test('the page of a session shows the sessions of its quorum, and none of another one', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const [ann, bob, cy] = people
  const [quorum, other] = [await scene.ask(), await scene.ask()]
  const { id: approved } = await scene.approve(ann, quorum)
  await scene.approve(bob, other)
  const waiting = await scene.sessionOf(bob, quorum)
  const third = await scene.sessionOf(cy, quorum)
  /** The part of the page about the quorum, as text, and the sessions to which it has links. */
  const shown = async (id: string) => {
    const page = await pageAt(h, `/sessions/${id}`)
    const [, part = ''] = /<h2>Quorum<\/h2>(.*?)<h2>/s.exec(page) ?? []
    const ids = [quorum, other].flatMap(({ sessions }) => sessions.map((each) => each.id))
    return {
      text: part.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' '),
      links: ids.filter((each) => part.includes(`/sessions/${each}"`)).toSorted(),
      page,
    }
  }
  const first = await shown(approved)
  assert.ok(first.text.includes(quorum.quorum_id) && !first.page.includes(other.quorum_id))
  assert.match(first.text, /2 of 3 people must approve\. .*this one bonded/)
  assert.deepEqual(first.links, [waiting.id, third.id].toSorted())
  assert.match(first.text, new RegExp(`${waiting.id} Open pending `))
  for (const { id } of other.sessions) assert.ok(!first.page.includes(id), id)

  await h.decline(cy.phone, third)
  const second = await shown(waiting.id)
  assert.match(second.text, /this one killed decided/)
  assert.match(second.text, new RegExp(`${third.id} Open killed user_declined`))
  assert.deepEqual(second.links, [approved, third.id].toSorted())

  // A session that asks one user has no such part.
  const { session } = await h.reach('bonded', { workflow: 'page' })
  assert.equal((await shown(session.id)).text, '')
  assert.ok(linkIn(first.page, 'Check the receipt'))
})

test('the page of a receipt says that one approval of several proves nothing alone', async () => {
  await using scene = await quorumHarness()
  const { h, people } = scene
  const quorum = await scene.ask()
  const { id } = await scene.approve(people[0], quorum)
  await h.api('GET', `/sessions/${id}/receipt`, { token: h.shop.server })
  const page = await pageAt(h, `/receipt?session=${id}`)
  assert.match(page, /one_of_several/)
  assert.match(page, /receipts of all users who approved together/)
  assert.doesNotMatch(page, /Do not rely on it/)
})
