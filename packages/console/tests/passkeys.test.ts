import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import pino from 'pino'
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

test('an address enrolls one passkey, which signs in with its role while its file exists', {
  skip: browserMissing,
}, async () => {
  await using h = await harness()
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const passkeys = new Passkeys(h.folder)
  const { service, clock } = h
  const log = pino({ level: 'silent' })
  await using running = await serveConsole({
    service,
    origin,
    signIn: (parts) => new PasskeySignIn(passkeys, { ...parts, origin }),
    host: '127.0.0.1',
    port,
    log,
  })
  assert.equal(running.port, port)
  await using browser = await openBrowser()
  const page = await (await browser.newContext()).newPage()
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('WebAuthn.enable')
  await devtools.send('WebAuthn.addVirtualAuthenticator', { options: AUTHENTICATOR })

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
})
