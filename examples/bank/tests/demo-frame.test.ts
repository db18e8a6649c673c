import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SERVER_CREDENTIAL } from '../../../packages/integrator/tests/fake-service.ts'
import { type BankDemo, startBank } from '../src/server.ts'
import { FORM, PUBLISHABLE_KEY, startFakeService } from './harness.ts'

const DEMO: BankDemo = {
  phoneOrigin: 'http://localhost:1',
  scenarios: [
    { name: 'normal', title: 'Normal', watch: 'Watch <it>.' },
    { name: 'short', title: 'Short', watch: 'Wait.', workflow: 'one_minute' },
    { name: 'passkey', title: 'Passkey', watch: '', script: 'http://localhost:1/a.js' },
    { name: 'relay', title: 'Relay', watch: '', url: 'http://127.0.0.1:1/' },
  ],
}

async function bankWith(demo: BankDemo | undefined) {
  const service = await startFakeService()
  const bank = await startBank({
    port: 0,
    serviceOrigin: service.origin,
    serverCredential: SERVER_CREDENTIAL,
    publishableKey: PUBLISHABLE_KEY,
    ...(demo && { demo }),
  })
  return {
    bank,
    async [Symbol.asyncDispose]() {
      await bank.close()
      service.stop()
    },
  }
}

test('shows the phone and the links of the scenarios in a demo only', async () => {
  await using plain = await bankWith(undefined)
  const page = await fetch(`${plain.bank.url}/?scenario=short`)
  assert.doesNotMatch(await page.text(), /iframe|demo-bar|Ada Lovelace/)
  assert.doesNotMatch(page.headers.get('content-security-policy') ?? '', /frame-src/)

  await using demo = await bankWith(DEMO)
  const shown = await fetch(`${demo.bank.url}/?scenario=short`)
  const html = await shown.text()
  assert.match(html, /src="http:\/\/localhost:1\/phone\?scenario=short"/)
  assert.match(html, /<a href="\/\?scenario=short" aria-current="page">/)
  assert.match(html, /<a href="http:\/\/127\.0\.0\.1:1\/">Relay/)
  assert.match(html, /data-workflow="one_minute"/)
  const policy = shown.headers.get('content-security-policy') ?? ''
  assert.match(policy, /frame-src http:\/\/localhost:1;/)
  assert.match(policy, /frame-ancestors 'none'/)
})

test('loads a script of the demo in its scenario only, before the widget', async () => {
  const script = '<script src="http://localhost:1/a.js"></script>'
  for (const [of, name, isLoaded] of [
    [undefined, 'passkey', false],
    [DEMO, 'short', false],
    [DEMO, 'passkey', true],
  ] as const) {
    await using h = await bankWith(of)
    const page = await fetch(`${h.bank.url}/?scenario=${name}`)
    const html = await page.text()
    assert.equal(html.includes(script), isLoaded, name)
    assert.ok(!isLoaded || html.indexOf(script) < html.indexOf('/v1/pulse.js'))
    const policy = page.headers.get('content-security-policy') ?? ''
    assert.equal(policy.includes('http://localhost:1/a.js;'), of !== undefined)
  }
})

test('starts with the first scenario for an unknown name, and escapes its texts', async () => {
  await using demo = await bankWith(DEMO)
  for (const name of ['', 'nope', '__proto__', '"><script>']) {
    const page = await fetch(`${demo.bank.url}/?scenario=${encodeURIComponent(name)}`)
    const html = await page.text()
    assert.match(html, /Watch &lt;it&gt;\./)
    assert.match(html, /data-workflow="credit_application"/)
  }
})

test('offers the workflow of a scenario in a demo only', async () => {
  for (const [demo, status] of [
    [undefined, 400],
    [DEMO, 201],
  ] as const) {
    await using h = await bankWith(demo)
    const page = await fetch(h.bank.url)
    const [cookie = ''] = page.headers.get('set-cookie')?.split(';') ?? []
    const post = (path: string, body: object) =>
      fetch(h.bank.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', cookie },
        body: JSON.stringify(body),
      })
    await post('/drafts', FORM)
    const created = await post('/bond-session', { workflow: 'one_minute' })
    assert.equal(created.status, status)
  }
})
