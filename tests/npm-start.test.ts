import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { browserMissing, openBrowser } from './browser.ts'
import { freePorts, npmStart } from './npm-start.ts'
import { photograph } from './photograph.ts'

const ROOT = resolve(import.meta.dirname, '..')

test('bonded dev names the setting to change when a port is in use, and exits', {
  timeout: 180_000,
}, async () => {
  const holder = createServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const [servicePort] = await freePorts()
  const usedPort = String((holder.address() as { port: number }).port)
  const folder = mkdtempSync(join(tmpdir(), 'bonded-taken-'))
  const start = (ports: Record<string, string>) =>
    promisify(execFile)('npx', ['bonded', 'dev'], {
      cwd: ROOT,
      env: { ...process.env, BONDED_DATA_DIR: folder, ...ports },
    })
  await assert.rejects(
    start({ BONDED_PORT: String(servicePort), DEMO_PORT: '0', BANK_PORT: usedPort }),
    /set BANK_PORT to another/,
  )
  await assert.rejects(
    start({ BONDED_PORT: String(servicePort), DEMO_PORT: usedPort }),
    /set DEMO_PORT to another/,
  )
  await assert.rejects(start({ BONDED_PORT: usedPort }), /set BONDED_PORT to another/)
  holder.close()
  rmSync(folder, { recursive: true, force: true })
})

test('the bank accepts nothing and records a report when the phone did not expect the request', {
  skip: browserMissing,
  timeout: 180_000,
}, async () => {
  await using started = await npmStart()
  const { bank, bonded, folder } = started
  const browser = await openBrowser({ asUsersHaveIt: true })
  try {
    const page = await browser.newPage({ viewport: { width: 390, height: 1400 } })
    await page.goto(bank)
    await page.fill('#name', 'Ada Lovelace')
    await page.fill('#amount', '12500')
    await page.selectOption('#purpose', 'home')
    await page.fill('#income', '3200')
    await page.click('#continue')
    const screenshot = await photograph(page, join(folder, 'screen.png'))
    await bonded('phone', 'decline', '--qr', screenshot, '--as', 'not-me', '--json')
    await page
      .getByText('The phone reported that its owner did not start this.')
      .waitFor({ state: 'visible' })
    await page.locator('#result[data-outcome=reported]').waitFor({ state: 'visible' })
    assert.match(await page.locator('#result-text').innerText(), /report R-000001/)
  } finally {
    await browser.close()
  }
})
