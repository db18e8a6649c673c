import { type Mode, PASSED } from '../rig/bank.ts'
import { visitBank } from '../rig/bank-tab.ts'
import type { Stage, Way } from '../rig/stage.ts'
import type { Scenario } from '../scenario.ts'

/** The user bonds in the widget of the bank's page, and submits the form. */
async function bond(stage: Stage, way: Way, mode: Mode): Promise<string> {
  const service = stage.service(way)
  const { phone, subjectRef } = await stage.victim(service)
  await using bank = await stage.openBank(service, { mode, accounts: { user: subjectRef } })
  await using computer = await stage.computer()
  const tab = await visitBank(computer, bank, { as: 'user' })
  const session = await tab.bond()
  await phone.approve(session)
  await computer.addPasskeys(await phone.copyPasskeys())
  await tab.finish()
  return await tab.submit(session)
}

/** The honest user: without it, a service that rejects everything would stop every attack. */
export const HONEST: Scenario = {
  number: 0,
  title: 'The user, in the user’s own browser',
  today: true,
  async run(stage, mode) {
    const ended = await bond(stage, 'related', mode)
    if (mode === 'without') return [{ ended, stoppedBy: PASSED }]
    return [
      { name: 'in the page', ended, stoppedBy: PASSED },
      {
        name: 'in the service’s frame',
        ended: await bond(stage, 'framed', mode),
        stoppedBy: PASSED,
      },
    ]
  },
}
