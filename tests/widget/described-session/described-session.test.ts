import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import { browserMissing } from '../../browser.ts'
import { describedMembers } from '../../described-members.ts'
import { Desk, realBrowser } from '../harness/desk.ts'

let desk: Desk
before(async () => {
  if (!browserMissing) desk = await Desk.start()
})
after(async () => desk?.[Symbol.asyncDispose]())

for (const [name, publish] of Object.entries({
  'the described members only': describedMembers,
  'them in a member `session`': (session: Omit<CreatedSession, 'completion_secret'>) => ({
    session: describedMembers(session),
  }),
}))
  test(`bonds when the backend gives its page ${name}`, realBrowser, async () => {
    desk.publish = publish
    const requested: string[] = []
    const page = await desk.visit()
    page.on('request', (request) => requested.push(request.url()))
    page.on('websocket', (socket) => requested.push(socket.url()))
    await desk.apply(page)
    await page.locator('.qr').waitFor()
    await desk.reach('bonded')
    assert.deepEqual(await desk.outcome(page), { state: 'bonded', sessionId: desk.session.id })
    assert.ok(requested.some((url) => url.startsWith('ws://')))
    assert.ok(
      requested.every((url) => !url.includes('bwt_')),
      requested.join('\n'),
    )
    desk.publish = (session) => session
  })

test(
  'shows a page without the widget each state of a session, by its websocket_url as it is',
  realBrowser,
  async () => {
    const page = await desk.visit()
    await desk.apply(page)
    await page.locator('.qr').waitFor()
    const { websocket_url } = desk.session
    const states = await page.evaluateHandle((url) => {
      const seen: string[] = []
      new WebSocket(url).addEventListener('message', ({ data }) => {
        seen.push(JSON.parse(data).state)
      })
      return seen
    }, websocket_url)
    await page.waitForFunction((seen) => seen[0] === 'pending', states)
    await desk.reach('bonded')
    await page.waitForFunction((seen) => seen.includes('bonded'), states)
  },
)
