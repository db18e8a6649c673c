import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
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

const ROOT = resolve(import.meta.dirname, '..')
/** The time that the README promises a newcomer. The test asserts the ready line, not its time. */
const START_TIMEOUT_MS = 60_000

/** What `npm start` gives a newcomer: a bank to open and a service behind it. */
async function npmStart() {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-start-'))
  const [servicePort, bankPort] = await freePorts()
  const env = {
    ...process.env,
    BONDED_PORT: String(servicePort),
    BANK_PORT: String(bankPort),
    BONDED_DATA_DIR: join(folder, '.bonded'),
  }
  const child = spawn('npm', ['start'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const printed = await until(child, /Stop {7}/)
  const bank = /Open +(\S+)/.exec(printed)?.[1] ?? ''
  const service = /Service +(\S+)/.exec(printed)?.[1] ?? ''
  const bonded = (...args: string[]) =>
    promisify(execFile)('npx', ['bonded', ...args], { cwd: ROOT, env })
  return {
    folder,
    printed,
    bank,
    service,
    bonded,
    demoFile: join(folder, '.bonded/demo.json'),
    async [Symbol.asyncDispose]() {
      const ended = new Promise((done) => child.once('exit', done))
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

test('npm start runs a bank that accepts a form approved by a phone that scans the screen', {
  skip: browserMissing,
  timeout: 180_000,
}, async (t) => {
  await using started = await npmStart()
  const { bank, service, bonded, demoFile, folder } = started
  assert.match(started.printed, /npx bonded phone approve/)
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
    start({ BONDED_PORT: String(servicePort), BANK_PORT: usedPort }),
    /set BANK_PORT to another/,
  )
  await assert.rejects(start({ BONDED_PORT: usedPort }), /set BONDED_PORT to another/)
  holder.close()
  rmSync(folder, { recursive: true, force: true })
})

test('the page reports a decline on the phone, and the bank accepts nothing', {
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
    assert.equal(await page.locator('#result').getAttribute('data-outcome'), 'refused')
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

async function until(child: ChildProcess, ready: RegExp): Promise<string> {
  const { promise, resolve: done, reject } = Promise.withResolvers<string>()
  let printed = ''
  child.stdout?.on('data', (chunk) => {
    printed += String(chunk)
    if (ready.test(printed)) done(printed)
  })
  child.once('exit', (code) => reject(new Error(`npm start ended with ${code} after: ${printed}`)))
  const timer = setTimeout(
    () => reject(new Error(`npm start is not ready: ${printed}`)),
    START_TIMEOUT_MS,
  )
  return promise.finally(() => clearTimeout(timer))
}

/** Two free ports. Both are bound before either is released, so that they differ. */
async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()]
  await Promise.all(
    servers.map((server) => new Promise<void>((done) => server.listen(0, '127.0.0.1', done))),
  )
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))))
  return ports as [number, number]
}
