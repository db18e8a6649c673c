import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserMissing } from '../../browser.ts'
import { Desk, realBrowser, screen } from '../harness/desk.ts'

let desk: Desk
before(async () => {
  if (!browserMissing) desk = await Desk.start()
})
after(() => desk?.[Symbol.asyncDispose]())

for (const state of ['waiting', 'scanned', 'evaluating', 'step_up', 'bonded'] as const)
  test(
    `continues on the screen ${state} after the service has restarted`,
    realBrowser,
    async () => {
      const page = await desk.visit()
      if (state === 'step_up') desk.workflow = 'strict'
      await desk.apply(page)
      await page.locator('.qr').waitFor()
      await desk.reach(state)
      await screen(page, state)
      const { handshakes } = desk.network
      const reconnected = page.waitForEvent('websocket')
      await desk.service.restart()
      await reconnected
      await screen(page, state)
      await desk.service.kill(desk.session, desk.bank)
      await screen(page, 'killed')
      assert.ok(desk.network.handshakes > handshakes)
      const outcome = await desk.outcome(page)
      assert.equal(outcome.state, state === 'bonded' ? 'bonded' : 'killed')
    },
  )
