import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import pino from 'pino'
import type { Page } from 'playwright-core'
import { browserMissing, openBrowser } from '../../../tests/browser.ts'
import { freePort } from '../../store/tests/servers/free-port.ts'
import { harness } from '../../../tests/harness/harness.ts'
import { ATTEMPT_COOKIE } from '../src/answer.ts'
import { PasskeySignIn } from '../src/passkey-sign-in.ts'
import { Passkeys } from '../src/passkeys.ts'
import { serveConsole } from '../src/server.ts'
import { send } from './http-client.ts'

const MINUTE = 60_000
const AUTHENTICATOR = {
  protocol: 'ctap2',
  transport: 'internal',
  hasResidentKey: true,
  hasUserVerification: true,
  isUserVerified: true,
  automaticPresenceSimulation: true,
} as const

interface Scene {
  readonly h: Awaited<ReturnType<typeof harness>>
  readonly origin: string
  readonly passkeys: Passkeys
  readonly page: Page
}

/** A console with passkeys, and a browser with an authenticator. */
async function withConsole(use: (scene: Scene) => Promise<void>): Promise<void> {
  await using h = await harness()
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const passkeys = new Passkeys(h.folder)
  await using running = await serveConsole({
    service: h.service,
    origin,
    signIn: (parts) => new PasskeySignIn(passkeys, { ...parts, origin }),
    host: '127.0.0.1',
    port,
    log: pino({ level: 'silent' }),
  })
  assert.equal(running.port, port)
  await using browser = await openBrowser()
  const page = await (await browser.newContext()).newPage()
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options: AUTHENTICATOR })
  await use({ h, origin, passkeys, page })
}

const browserTest = { skip: browserMissing }

test(
  'an address enrolls one passkey, which signs in with its role while its file exists',
  browserTest,
  () => withConsole(enrollAndSignIn),
)

async function enrollAndSignIn({ h, origin, passkeys, page }: Scene): Promise<void> {
  const { service, clock } = h
  const late = passkeys.invite({ name: 'bob', role: 'admin' }, clock.now() - 10 * MINUTE)
  assert.equal((await send(`${origin}/enroll/${late}`)).status, 403)
  const address = `${origin}/enroll/${passkeys.invite({ name: 'ada', role: 'support' }, clock.now())}`
  await page.goto(address)
  await page.getByRole('button', { name: 'Create a passkey' }).click()
  await page.waitForURL(`${origin}/sign-in`)
  assert.equal((await send(address)).status, 403)

  const cookies = await page.context().cookies()
  const attempt = cookies.find(({ name }) => name === ATTEMPT_COOKIE)?.value
  const asked = page.waitForRequest(`${origin}/passkey`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await page.waitForURL(`${origin}/`)
  assert.match((await page.textContent('header')) ?? '', /ada · support/)
  await page.goto(`${origin}/rejections`)
  assert.equal(await page.textContent('h1'), 'Rejected requests')

  const replay = await send(`${origin}/passkey`, {
    method: 'POST',
    headers: {
      origin,
      cookie: `${ATTEMPT_COOKIE}=${attempt}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: (await asked).postData() ?? '',
  })
  assert.equal(replay.status, 403)

  const files = readdirSync(join(h.folder, 'console'))
  const [file = ''] = files.filter((name) => name.startsWith('passkey-'))
  rmSync(join(h.folder, 'console', file))
  await page.goto(`${origin}/rejections`)
  assert.equal(await page.textContent('h1'), 'Sign in')
  const entries = await service.store.read(({ audit }) => audit.list({ limit: 100 }))
  assert.deepEqual(
    entries.map(({ action, actor, actorKind, result }) => [action, actor, actorKind, result]),
    [
      ['console enroll', 'ada', 'console', 'success'],
      ['console sign-in', 'ada', 'console', 'success'],
      ['session rejections', 'ada', 'console', 'success'],
      ['console sign-in', 'ada', 'console', 'passkey_rejected'],
    ],
  )
}

test('the sign-in says why the browser returned no passkey', browserTest, () =>
  withConsole(async ({ h, origin, passkeys, page }) => {
    const address = `${origin}/enroll/${passkeys.invite({ name: 'ada', role: 'support' }, h.clock.now())}`
    const says = async (verb: string, text: string) => {
      await page.getByRole('button', { name: verb }).click()
      await page.getByText(text, { exact: true }).waitFor()
    }
    await page.goto(address)
    for (const [name, text] of [
      ['NotAllowedError', CANCELED],
      ['InvalidStateError', 'This device already has the passkey. Sign in with it.'],
      [
        'ConstraintError',
        'This device cannot check who uses it. Turn on a screen lock, or use a security key with a PIN.',
      ],
      [
        'NotSupportedError',
        'This device cannot create a passkey of ES256. Use a security key or a phone.',
      ],
      [
        'SecurityError',
        'The browser permits no passkeys at this address. Open the one that bonded console printed.',
      ],
      ['UnknownError', 'The browser returned no passkey (UnknownError). Try again.'],
    ] as const) {
      await page.evaluate(
        `navigator.credentials.create = () => Promise.reject(new DOMException('', '${name}'))`,
      )
      await says('Create a passkey', text)
    }
    await page.goto(`${origin}/sign-in`)
    await page.evaluate(
      `navigator.credentials.get = () => Promise.reject(new DOMException('', 'NotAllowedError'))`,
    )
    await says('Sign in with a passkey', CANCELED)
    await page.addInitScript('delete Navigator.prototype.credentials')
    await page.goto(`${origin}/sign-in`)
    await says(
      'Sign in with a passkey',
      'This browser cannot use passkeys. Open this address in another browser.',
    )
  }),
)

const CANCELED =
  'You closed the prompt, its time was over, or this device has no such passkey. Try again.'

test('the console says why it rejects a passkey', browserTest, () =>
  withConsole(async ({ h, origin, passkeys, page }) => {
    const now = () => h.clock.now()
    await page.goto(`${origin}/enroll/${passkeys.invite({ name: 'ada', role: 'support' }, now())}`)
    await page.getByRole('button', { name: 'Create a passkey' }).click()
    await page.waitForURL(`${origin}/sign-in`)
    const says = async (text: string) => {
      await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
      await page.waitForURL(`${origin}/passkey`)
      assert.equal(await page.textContent('main p'), text)
      await page.goto(`${origin}/sign-in`)
    }
    const other = await page.context().newPage()
    await other.goto(`${origin}/sign-in`)
    await says(
      'The passkey does not verify. Usually the sign-in was opened again since then, or the console was restarted.',
    )
    await page.context().clearCookies()
    await says(
      'Your browser sent no cookie of a sign-in that began here in the last 10 minutes. Usually it blocks cookies, the sign-in began in another browser, or the console was restarted.',
    )
    for (const file of readdirSync(join(h.folder, 'console')))
      rmSync(join(h.folder, 'console', file))
    await says('This passkey is not enrolled on this machine. Use another one.')
  }),
)
