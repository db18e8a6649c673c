import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { SmallElement, useSmallDocument } from '../../../phone-page/tests/drawn/small-document.ts'

/* How a page loads the script of the service, with the words of each failure. */

const listeners = new Map<string, (event: object) => void>()
const document = useSmallDocument({
  addEventListener: (type: string, listener: (event: object) => void) =>
    listeners.set(type, listener),
  removeEventListener: (type: string) => listeners.delete(type),
})
const head = new SmallElement('head', document)
Object.assign(document, { head })
const { loadPulse } = await import('../../src/npm/load-pulse.ts')
const { PulseBondElement } = await import('../../src/npm/element.ts')

const page = globalThis as { Pulse?: object | undefined }
const ORIGIN = 'https://bond.example'
const scripts = () => head.children as (SmallElement & Record<string, unknown>)[]
beforeEach(() => {
  delete page.Pulse
  head.replaceChildren()
})
/** The script runs, and then the browser says that it is loaded. */
const run = (pulse: object) => {
  page.Pulse = pulse
  scripts()[0]?.dispatch('load')
}
const failsWith = (code: string, message: string) => ({ name: 'PulseLoadError', code, message })

test('names the fix of each wrong option, and loads nothing', async () => {
  const invalid = failsWith(
    'origin_invalid',
    'Pass `origin`: the origin of the service without a path, such as https://bond.example.',
  )
  for (const origin of ['', 'bond.example', 'https://bond.example/', 'ftp://a.example', undefined])
    await assert.rejects(loadPulse({ origin } as { origin: string }), invalid)
  await assert.rejects(
    loadPulse({ origin: ORIGIN, integrity: 'sha384-a' }),
    failsWith(
      'integrity_without_version',
      'Pass `version` with `integrity`: the content of the current script changes.',
    ),
  )
  assert.equal(scripts().length, 0)
})

test('loads the current script once, or the pinned one with its integrity', async (context) => {
  const pulse = { origin: ORIGIN, version: '1.2.3' }
  const loads = [loadPulse({ origin: ORIGIN }), loadPulse({ origin: ORIGIN })]
  assert.equal(scripts().length, 1)
  const [script] = scripts()
  assert.deepEqual(
    [script?.['src'], script?.['async'], script?.['crossOrigin'], script?.['referrerPolicy']],
    ['https://bond.example/v1/pulse.js', true, 'anonymous', 'no-referrer'],
  )
  assert.equal(script?.['integrity'], undefined)
  run(pulse)
  assert.deepEqual(await Promise.all(loads), [pulse, pulse])
  assert.equal(listeners.size, 0)

  delete page.Pulse
  head.replaceChildren()
  // A browser reads the integrity of a script when the page inserts it, and not later.
  const inserted: unknown[] = []
  context.mock.method(head, 'append', (script: SmallElement & Record<string, unknown>) => {
    inserted.push([script['src'], script['integrity'], script['crossOrigin']])
    SmallElement.prototype.append.call(head, script)
  })
  const pinned = loadPulse({ origin: ORIGIN, version: '1.2.3', integrity: 'sha384-a' })
  assert.deepEqual(inserted, [['https://bond.example/v1/pulse-1.2.3.js', 'sha384-a', 'anonymous']])
  assert.equal(scripts()[0]?.['src'], 'https://bond.example/v1/pulse-1.2.3.js')
  assert.equal(scripts()[0]?.['integrity'], 'sha384-a')
  run(pulse)
  assert.equal(await pinned, pulse)
})

test('takes the Pulse that the page has, of this origin and version only', async () => {
  page.Pulse = { origin: ORIGIN, version: '1.2.3' }
  assert.equal(await loadPulse({ origin: ORIGIN }), page.Pulse)
  assert.equal(await loadPulse({ origin: ORIGIN, version: '1.2.3' }), page.Pulse)
  const other = (origin: string) =>
    failsWith(
      'other_script',
      `The page has a Pulse 1.2.3 of ${ORIGIN}. Load one script, from ${origin}.`,
    )
  await assert.rejects(loadPulse({ origin: ORIGIN, version: '1.2.4' }), other(ORIGIN))
  await assert.rejects(loadPulse({ origin: 'https://a.example' }), other('https://a.example'))
  assert.equal(scripts().length, 0)
})

test('says what blocked the script, and tries again at the next call', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const url = 'https://b.example/v1/pulse.js'
  for (const [violation, advice] of [
    [undefined, 'Check `integrity` and `version`, the network, and browser extensions.'],
    [
      { blockedURI: url, disposition: 'enforce' },
      'The Content Security Policy of the page lacks script-src https://b.example.',
    ],
    [
      { blockedURI: url, disposition: 'report' },
      'Check `integrity` and `version`, the network, and browser extensions.',
    ],
    [
      { blockedURI: 'https://c.example/', disposition: 'enforce' },
      'Check `integrity` and `version`, the network, and browser extensions.',
    ],
  ] as const) {
    const loading = loadPulse({ origin: 'https://b.example' })
    assert.equal(scripts().length, 1)
    scripts()[0]?.dispatch('error')
    assert.equal(scripts().length, 0, 'the script is removed')
    // The browser reports the violation after the error.
    if (violation) listeners.get('securitypolicyviolation')?.(violation)
    context.mock.timers.tick(1)
    await assert.rejects(
      loading,
      failsWith('script_blocked', `${url} could not be loaded. ${advice}`),
    )
    assert.equal(listeners.size, 0)
  }
})

test('an element passes each of its attributes to the option of that name', async () => {
  const seen: unknown[] = []
  const pulse = {
    origin: ORIGIN,
    version: '1.2.3',
    init: (options: object) => void seen.push(options),
    requireBond: (request: object) => {
      seen.push(request)
      return 'outcome'
    },
  }
  page.Pulse = pulse
  const requesting = async (attributes: Record<string, string>, setup = {}, request?: object) => {
    const given = new Map(Object.entries(attributes))
    const element = Object.create(PulseBondElement.prototype, {
      getAttribute: { value: (name: string) => given.get(name) ?? null },
      id: { value: 'box', writable: true },
      setup: { value: setup },
    }) as InstanceType<typeof PulseBondElement>
    seen.length = 0
    assert.equal(await element.requireBond(request), 'outcome')
    return seen.slice()
  }
  const required = { origin: ORIGIN, 'publishable-key': 'pk', workflow: 'pay' }
  assert.deepEqual(
    await requesting(
      {
        ...required,
        version: '1.2.3',
        integrity: 'sha384-a',
        action: 'submit',
        'session-endpoint': '/bond-session',
        'session-endpoint-credentials': 'include',
      },
      { locale: 'de', sessionEndpointCredentials: 'same-origin', workflow: 'other' },
    ),
    [
      {
        locale: 'de',
        publishableKey: 'pk',
        workflow: 'pay',
        sessionEndpoint: '/bond-session',
        sessionEndpointCredentials: 'include',
        containerId: 'box',
      },
      { action: 'submit' },
    ],
  )
  const context = { amount: 1 }
  const setup = { sessionEndpointCredentials: 'include' }
  assert.deepEqual(await requesting(required, setup, { action: 'close', context }), [
    {
      publishableKey: 'pk',
      workflow: 'pay',
      sessionEndpoint: undefined,
      sessionEndpointCredentials: 'include',
      containerId: 'box',
    },
    { action: 'close', context },
  ])
  await assert.rejects(
    requesting({ ...required, version: '1.2.4' }),
    ({ code }: { code: string }) => code === 'other_script',
  )
  await assert.rejects(
    requesting({ ...required, integrity: 'sha384-a' }),
    ({ code }: { code: string }) => code === 'integrity_without_version',
  )
})
