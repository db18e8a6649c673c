import { mkdtempSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { installSensors } from '../../packages/phone-page/tests/motion-driver.ts'
import {
  openPhone,
  type PhoneBrowser,
  press,
  readAll,
  screen,
} from '../../packages/phone-page/tests/phone-browser.ts'
import { openBrowser } from '../browser.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { walkGuide } from '../samples/guide.ts'
import { type Program, Terminal } from '../samples/terminal.ts'
import { type EmptyFolder, READER } from './empty-folder.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** What the guide says of production, in one line: another tenant, in the same `server.env`. */
const CREATE_IN_PRODUCTION = `
  CREDENTIAL=$(npx bonded tenant create --name "Harbour Bank" --environment production --json \
    --workflow enrollment:enroll --workflow agent_payments:transfer:preset=agent |
    node -p 'JSON.parse(require("fs").readFileSync(0)).server_credential')
  sed -i "s/^BONDED_SERVER_CREDENTIAL=.*/BONDED_SERVER_CREDENTIAL=$CREDENTIAL/; /^SUBJECT_REF=/d" \
    server.env`

/** What a reader sees for one tenant. */
export interface Walk {
  /** The request on the phone. */
  readonly shown: string
  readonly agent: string
  /** What the script in Python prints. */
  readonly receipt: string
}

/**
 * Types docs/guides/approve-an-agents-action.md in an empty folder, with Chromium as the phone.
 * Then types it again for a tenant of production, to which the phone brings its key.
 */
export async function walkAgentGuide(packed: EmptyFolder): Promise<Record<string, Walk>> {
  const port = String(await freePort())
  const values = {
    'https://example.trycloudflare.com': `http://localhost:${port}`,
    '~/bonded-packages': join(packed.path, 'tarballs'),
    '<repository>': ROOT,
  }
  const guide = { path: 'docs/guides/approve-an-agents-action.md', test: import.meta.filename }
  return walkGuide({ ...guide, values }, async (next) => {
    const folder = mkdtempSync(join(packed.path, 'agent-'))
    await using terminal = new Terminal({ folder, env: { ...READER, BONDED_PORT: port } })
    await using browser = await openBrowser()
    await terminal.type(next())
    await terminal.start(next()).printed(/sandbox runs at/)
    await terminal.type(next())
    terminal.write('enroll.mjs', next())
    const phone = await openPhone(browser)
    await installSensors(phone.page, 'granted')
    const enroll = next()
    await enrollUser(terminal.start(enroll), phone)
    await terminal.type(next())
    terminal.write('server.mjs', next())
    terminal.write('agent.mjs', next())
    const [ask, verify] = [next(), next()]

    const approve = async (): Promise<Walk> => {
      const asking = terminal.start(ask)
      const [, inbox = ''] = await asking.printed(/^approval_required: open (\S+) on the phone$/m)
      const shown = await approveInInbox(phone.page, inbox)
      const agent = await asking.ended
      const [session = ''] = /sess_\w+/.exec(agent) ?? []
      return { shown, agent, receipt: await terminal.type(verify, { 'sess_…': session }) }
    }
    const sandbox = await approve()
    await terminal.add(CREATE_IN_PRODUCTION)
    await enrollUser(terminal.start(enroll), phone)
    return { sandbox, production: await approve() }
  })
}

async function enrollUser(enrolling: Program, phone: PhoneBrowser): Promise<void> {
  const [, universal_link = ''] = await enrolling.printed(/^Open (\S+) on the phone/m)
  await phone.open({ universal_link })
  await readAll(phone.page)
  await press(phone.page, 'Approve')
  await screen(phone.page, 'approved')
  enrolling.answer('\n')
  await enrolling.ended
}

/** Returns what the phone showed. */
async function approveInInbox(page: Page, inbox: string): Promise<string> {
  await page.goto(inbox)
  await screen(page, 'inbox')
  await press(page, 'Open')
  await screen(page, 'list')
  await page.locator('.item').click()
  await screen(page, 'request')
  const shown = await page.locator('article').innerText()
  // The user holds the phone in the hand for seconds that only the page counts.
  await page.evaluate('carry(20)')
  await readAll(page)
  await press(page, 'Approve')
  // The agent calls the tool as soon as it can, which may complete the session within a second.
  await screen(page, 'approved', 'completed')
  return shown
}
