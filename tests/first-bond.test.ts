import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { PhoneError, readHandoff } from '@bonded/simulator'
import type { Page } from 'playwright-core'
import { browserMissing, openBrowser } from './browser.ts'
import { freePorts, npmStart } from './npm-start.ts'

const ROOT = resolve(import.meta.dirname, '..')

test('npm start runs a bank that accepts a form approved by a phone that scans the screen', {
  skip: browserMissing,
  timeout: 180_000,
}, async (t) => {
  await using started = await npmStart()
  const { bank, service, bonded, demoFile, folder } = started
  assert.equal(statSync(demoFile).mode & 0o777, 0o600)

  const browser = await openBrowser()
  try {
    const page = await browser.newPage({ viewport: { width: 1100, height: 1100 } })
    const errors: string[] = []
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
    page.on('pageerror', (failure) => errors.push(String(failure)))
    await page.goto(bank)
    await page.fill('#name', 'Ada Lovelace')
    await page.fill('#amount', '12500')
    await page.selectOption('#purpose', 'home')
    await page.fill('#income', '3200')
    const created = page.waitForResponse((response) => response.url().endsWith('/bond-session'))
    await page.click('#continue')
    const { id } = (await (await created).json()) as { id: string }
    // A phone in its own process reads the QR code from the pixels of the screen.
    const screenshot = await photograph(page, join(folder, 'screen.png'))
    const phone = bonded('phone', 'approve', '--qr', screenshot, '--json')

    await page.locator('#result[data-outcome]').waitFor({ state: 'visible' })
    assert.equal(await page.locator('#result').getAttribute('data-outcome'), 'accepted')
    const printed = JSON.parse((await phone).stdout) as {
      state: string
      completed: boolean
      shown: { tenant_name: string; context: { display: { value: string }[] } }
    }
    assert.deepEqual([printed.state, printed.completed], ['completed', true])
    assert.ok(
      printed.shown.context.display.some(({ value }) => value.includes('12,500')),
      'the phone showed the amount',
    )
    await t.test('the page reports no error and no warning', () => assert.deepEqual(errors, []))

    const { server_credential } = JSON.parse(readFileSync(demoFile, 'utf8')) as {
      server_credential: string
    }
    const read = await fetch(`${service}/api/v1/sessions/${id}`, {
      headers: { authorization: `Bearer ${server_credential}` },
    })
    assert.equal(((await read.json()) as { state: string }).state, 'completed')
    const timeline = await bonded('session', 'timeline', id)
    assert.match(timeline.stdout, /bonded[\s\S]*completed/)
  } finally {
    await browser.close()
  }
})

test('bonded dev names the setting to change when a port is in use, and exits', {
  timeout: 60_000,
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
  const browser = await openBrowser()
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

/** Takes screenshots of the page until a phone can read the QR code in one. */
async function photograph(page: Page, path: string): Promise<string> {
  await page.locator('#bond-container svg[role=img][viewBox]').waitFor({ state: 'visible' })
  for (;;) {
    const picture = await page.screenshot({ path, fullPage: true })
    try {
      readHandoff(picture)
      return path
    } catch (failure) {
      if (!(failure instanceof PhoneError) || failure.code !== 'handoff_unreadable') throw failure
    }
  }
}
