import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { ROOT } from '../../scripts/site/documents.ts'
import { browserMissing, openBrowser } from '../browser.ts'
import { machine } from '../harness/process.ts'
import { photograph } from '../photograph.ts'
import { walkGuide } from '../samples/guide.ts'
import { Terminal } from '../samples/terminal.ts'

const CREATE_TENANT =
  'tenant create --name Shop --environment sandbox --demo --workflow credit_application:submit_application'

test('the commands of the documents start the bank, and approve a screenshot of its page', {
  skip: browserMissing,
}, async () => {
  const [service, bank] = [String(await freePort()), String(await freePort())]
  const origin = `http://localhost:${service}`
  const address = { BONDED_PORT: service, BONDED_PUBLIC_ORIGIN: origin }
  using m = machine({ env: address })
  await using _ = await m.serve()
  const tenant = m.json(...CREATE_TENANT.split(' '), '--origin', `http://localhost:${bank}`)
  // Below the repository, so that `npx bonded` finds the command.
  const folder = mkdtempSync(join(ROOT, 'node_modules/.guides-'))
  const env = {
    ...process.env,
    ...address,
    BONDED_DATA_DIR: m.folder,
    BONDED_SERVICE_ORIGIN: origin,
    SERVER: tenant.server_credential,
    KEY: tenant.publishable_key,
  }
  await using terminal = new Terminal({ folder, env: { ...env, BANK_PORT: bank } })
  await using other = new Terminal({ folder, env: { ...env, BANK_PORT: '0' } })
  await using browser = await openBrowser({ asUsersHaveIt: true })
  const page = await browser.newPage({ viewport: { width: 1100, height: 1100 } })
  const approve = async (approving: Parameters<Terminal['start']>[0]) => {
    await page.goto(`http://localhost:${bank}`)
    await page.fill('#name', 'Ada Lovelace')
    await page.fill('#amount', '12500')
    await page.selectOption('#purpose', 'home')
    await page.fill('#income', '3200')
    const created = page.waitForResponse((response) => response.url().endsWith('/bond-session'))
    await page.click('#continue')
    await created
    await photograph(page, join(folder, 'screenshot.png'))
    // The command ends when the bank has completed the session.
    assert.match(await terminal.start(approving).ended, /12,500[^]*completed/)
    await page.locator('#result[data-outcome]').waitFor({ state: 'visible' })
    assert.equal(await page.locator('#result').getAttribute('data-outcome'), 'accepted')
  }
  const walked = (path: string, values = {}) => ({ path, test: import.meta.filename, values })
  try {
    await walkGuide(walked('docs/guides/quickstart.md'), async (next) => {
      await terminal.start(next()).printed(/http:/)
      await approve(next())
    })
    await walkGuide(walked('examples/demo/README.md'), async (next) => approve(next()))
    const values = {
      'sk_beta_…': tenant.server_credential,
      'pk_beta_…': tenant.publishable_key,
    }
    await walkGuide(walked('examples/bank/README.md', values), async (next) =>
      other.start(next()).printed(/http:/),
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
