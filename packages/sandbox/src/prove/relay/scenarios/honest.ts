import { PASSED } from '../rig/bank.ts'
import { visitBank } from '../rig/bank-tab.ts'
import { framing, frameUrl } from '../rig/service-frame.ts'
import type { Scenario } from '../scenario.ts'
import { approved, confirmIn } from './approved.ts'

/** Without it, a service that rejects everything would stop every attack. */
export const HONEST: Scenario = {
  number: 0,
  title: 'The user, in the user’s own browser',
  today: true,
  async run(stage, mode) {
    const service = stage.service('related')
    const { phone, subjectRef } = await stage.victim(service)
    await using bank = await stage.openBank(service, { mode, accounts: { user: subjectRef } })
    await using computer = await stage.computer()
    const tab = await visitBank(computer, bank, { as: 'user' })
    const session = await tab.bond()
    await phone.approve(session)
    await computer.addPasskeys(await phone.copyPasskeys())
    await tab.finish()
    const ended = await tab.submit(session)
    if (mode === 'without') return [{ ended, stoppedBy: PASSED }]
    const framed = await approved(stage, stage.service('framed'), async (given) => {
      const { page } = given.computer
      await page.goto(
        framing(given.service.bank.origin, frameUrl(given.service, given.service.bank)),
      )
      await page.waitForFunction(`messages.some(({ data }) => data.type === 'ready')`)
      return confirmIn(page, given)
    })
    return [
      { name: 'in the page', ended, stoppedBy: PASSED },
      { name: 'in the service’s frame', ended: framed, stoppedBy: PASSED },
    ]
  },
}
