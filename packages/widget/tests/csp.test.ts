import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  browserTest,
  Harness,
  init,
  noBrowser,
  outcome,
  require,
  screen,
  until,
} from './harness.ts'

let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

/** A policy that allows what the widget needs, with these directives in place of its own. */
function policy(changes: Readonly<Record<string, string>> = {}): string {
  const { origin } = h.worker
  const directives = {
    'default-src': `'none'`,
    'script-src': `${origin} 'unsafe-eval'`,
    'connect-src': `'self' ${origin} ${origin.replace('http', 'ws')}`,
    'img-src': `${origin} data:`,
    ...changes,
  }
  return Object.entries(directives)
    .map(([name, sources]) => `${name} ${sources}`)
    .join('; ')
}

/** Requests a bond under a policy, and collects the errors of the widget in the console. */
async function requested(csp: string) {
  const said: string[] = []
  const page = await h.open({ csp })
  page.on('console', (message) => {
    if (message.text().startsWith('Pulse:')) said.push(message.text())
  })
  await page.reload()
  await init(page)
  await require(page)
  return { page, said }
}

for (const [what, directive] of [
  ['the service', 'connect-src'],
  ['the modules of the script', 'script-src'],
] as const)
  test(`names ${directive} where the policy blocks ${what}`, browserTest, async () => {
    const { origin } = h.worker
    const sources = directive === 'connect-src' ? `'self'` : `${origin}/v1/pulse.js`
    const { page, said } = await requested(policy({ [directive]: sources }))
    const missingCsp = `${directive} ${origin}`
    assert.deepEqual(await outcome(page), {
      state: 'unavailable',
      sessionId: null,
      reason: 'network',
      missingCsp,
    })
    assert.ok(said.some((text) => text.includes(`lacks ${missingCsp}.`)))
  })

test(
  'names connect-src where the policy blocks the endpoint of the page',
  browserTest,
  async () => {
    const { page, said } = await requested(policy({ 'connect-src': h.worker.origin }))
    const missingCsp = `connect-src ${new URL(h.siteUrl).origin}`
    const ended = await outcome(page)
    assert.deepEqual([ended.reason, ended.missingCsp], ['network', missingCsp])
    assert.ok(said.some((text) => text.includes(`lacks ${missingCsp}.`)))
  },
)

test('names the WebSocket origin, and watches without it', browserTest, async () => {
  const { origin } = h.worker
  const { page, said } = await requested(policy({ 'connect-src': `'self' ${origin}` }))
  await screen(page, 'waiting')
  await until(() => said.length > 0)
  assert.match(said[0] ?? '', new RegExp(`lacks connect-src ${origin.replace('http', 'ws')}\\.`))
})

test(
  'blames no policy for a network that fails, or for what the page itself blocks',
  browserTest,
  async () => {
    const { page, said } = await requested(policy())
    await screen(page, 'waiting')
    await page.evaluate(`fetch('https://other.example/').catch(() => {})`)
    await page.evaluate(`fetch('/other').catch(() => {})`)
    assert.deepEqual(said, [])
  },
)
