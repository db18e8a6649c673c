import type { CreatedSession } from '@bonded/contract'
import type { Page } from 'playwright-core'
import type { Computer, Passkey } from '../rig/people.ts'
import { drawSecret } from '../rig/proof.ts'
import type { RelayService } from '../rig/relay-service.ts'
import { frameIn, frameScreen, listens, startMessage } from '../rig/service-frame.ts'
import { approvedSession, bonds } from '../rig/sessions.ts'
import { HOSTS, type Stage } from '../rig/stage.ts'

/** A session that the victim's phone has approved, and the victim's computer. */
export interface Approved {
  readonly service: RelayService
  readonly session: CreatedSession
  readonly computer: Computer
  readonly passkeys: readonly Passkey[]
}

/** Has the victim approve, and opens the victim's computer. The bank has an empty page. */
export async function approved<Result>(
  stage: Stage,
  service: RelayService,
  act: (given: Approved) => Promise<Result>,
): Promise<Result> {
  const victim = await stage.victim(service)
  stage.leadToBlankSite(HOSTS.bank)
  const session = await approvedSession(service, victim)
  const passkeys = await victim.phone.copyPasskeys()
  await using computer = await stage.computer()
  await computer.addPasskeys(passkeys)
  return await act({ service, session, computer, passkeys })
}

/** Starts the frame from its page once it listens, and presses its button where it has one. */
export async function confirmIn(page: Page, { service, session }: Approved): Promise<string> {
  const frame = frameIn(page, service)
  if (frame === undefined) return 'frame_blocked'
  await listens(page)
  const { commitment } = drawSecret()
  const message = startMessage(session, { tenant: service.bank, commitment })
  await page.evaluate(`frames[0].postMessage(${message}, '*')`)
  const screen = await frameScreen(frame)
  if (screen !== 'confirm') return `frame_${screen}`
  await frame.getByRole('button').click()
  await page.waitForFunction(`messages.some(({ data }) => /done|failed/.test(data.type))`)
  return bonds(service, session)
}
