import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { browserMissing, openBrowser } from './browser.ts'
import { npmStart } from './npm-start.ts'
import { photograph } from './photograph.ts'

test('npm start runs a bank that accepts a form approved by a phone that scans the screen', {
  skip: browserMissing,
  timeout: 180_000,
}, async (t) => {
  await using started = await npmStart()
  const { bank, service, bonded, demoFile, folder } = started
  assert.equal(statSync(demoFile).mode & 0o777, 0o600)

  const browser = await openBrowser({ asUsersHaveIt: true })
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
