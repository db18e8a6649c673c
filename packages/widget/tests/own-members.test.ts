import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readFrame } from '../src/session/frame.ts'
import { readAddress, readSnapshot } from '../src/session/snapshot.ts'
import {
  browserTest,
  Harness,
  noBrowser,
  type OnPage,
  outcome,
  PUBLISHABLE_KEY,
  PURPOSE,
} from './harness.ts'
import { readQrFrom } from './read-qr.ts'

let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

/**
 * Every option of `Pulse`, every member of a response or a frame, and the options of browser calls
 * that the widget omits. Each value would change the outcome if the widget read it.
 */
const POLLUTION: Readonly<Record<string, unknown>> = {
  publishableKey: PUBLISHABLE_KEY,
  workflow: 'wire_transfer',
  containerId: 'elsewhere',
  sessionEndpoint: '/elsewhere',
  sessionEndpointCredentials: 'include',
  action: 'approve_wire',
  context: { polluted: true },
  session: { id: `sess_${'p'.repeat(22)}`, watch_token: 'bwt_p', state: 'bonded' },
  session_id: `sess_${'p'.repeat(22)}`,
  watch_token: 'bwt_polluted',
  watchToken: 'bwt_polluted',
  api_base_url: 'https://evil.example',
  apiBaseUrl: 'https://evil.example',
  websocket_url: 'wss://evil.example/sessions/x',
  websocketUrl: 'wss://evil.example/sessions/x',
  tenant_id: 'ten_polluted',
  tenantId: 'ten_polluted',
  state: 'bonded',
  seq: 1_000_000,
  hint: 'scanned',
  ended_reason: 'user_declined',
  endedReason: 'user_declined',
  outcome: 'in_review',
  expires_in_ms: 1,
  expiresAt: 1,
  qr_payload: 'https://evil.example/phish',
  universal_link: 'https://evil.example/phish',
  challenge_expires_in_ms: 1,
  challenge_rotates_in_ms: 1,
  completion_secret: 'bcs_polluted',
  completionSecret: 'bcs_polluted',
  error: { reason: 'origin_not_allowed' },
  reason: 'container_hidden',
  retryAfterMs: 1_000_000,
  confirmed: true,
  wait: { ms: 1_000_000, after: 0 },
  // Options of fetch, addEventListener, attachShadow and the QR encoder.
  method: 'PUT',
  body: 'polluted',
  mode: 'no-cors',
  redirect: 'error',
  integrity: 'sha256-x',
  keepalive: true,
  once: true,
  passive: true,
  slotAssignment: 'manual',
  maskPattern: 3,
  minVersion: 30,
  invert: true,
}

/** Adds these members to every object of the page, as a vulnerable library of the page could. */
const pollute = (members: Record<string, unknown>) => {
  for (const [name, value] of Object.entries(members))
    Object.defineProperty(Object.getPrototypeOf({}), name, {
      value,
      configurable: true,
      writable: true,
    })
}

test('bonds when every member that it reads is polluted', browserTest, async () => {
  const page = await h.open()
  await page.evaluate(pollute, POLLUTION)
  await page.evaluate(
    ([setup, request]) => {
      const scope = globalThis as unknown as OnPage
      void scope.Pulse.init(setup)
      scope.outcome = scope.Pulse.requireBond(request)
    },
    [
      {
        publishableKey: PUBLISHABLE_KEY,
        workflow: PURPOSE.workflow,
        sessionEndpoint: '/bond-session',
      },
      { action: PURPOSE.action },
    ] as const,
  )
  await page.locator('.qr').waitFor()
  assert.equal(await readQrFrom(page), h.session.payload)
  assert.deepEqual(h.requests.at(-1), { ...PURPOSE })
  h.session.hinted('scanned')
  await page.locator('.card[data-screen=scanned]').waitFor()
  h.worker.cutSockets()
  h.session.moved('bonded')
  const { state, sessionId } = await outcome(page)
  assert.deepEqual({ state, sessionId }, { state: 'bonded', sessionId: h.session.id })
})

test('reads no option from a polluted prototype', browserTest, async () => {
  const page = await h.open()
  await page.evaluate(pollute, POLLUTION)
  const codes = await page.evaluate(
    async ([publishableKey, workflow]) => {
      const { Pulse } = globalThis as unknown as OnPage
      const codeOf = async (call: () => unknown) => {
        try {
          await call()
          return 'accepted'
        } catch (error) {
          return (error as { code: string }).code
        }
      }
      const empty = await codeOf(() => Pulse.init({}))
      const partial = await codeOf(() => Pulse.init({ publishableKey }))
      void Pulse.init({ publishableKey, workflow })
      return [
        empty,
        partial,
        await codeOf(() => Pulse.requireBond({})),
        await codeOf(() => Pulse.requireBond({ action: 'submit_application' })),
        await codeOf(() => Pulse.requireBond({ action: 'submit_application', session: {} })),
      ]
    },
    [PUBLISHABLE_KEY, PURPOSE.workflow] as const,
  )
  assert.deepEqual(codes, [
    'publishable_key_invalid',
    'workflow_invalid',
    'action_invalid',
    'session_endpoint_invalid',
    'session_invalid',
  ])
  assert.equal(h.sessions.length, 0)
})

test('reads no member of a response or a frame from a polluted prototype', () => {
  const undo = Object.keys(POLLUTION).filter((name) => !(name in Object.prototype))
  const restore = () => {
    for (const name of [...undo, 'v']) Reflect.deleteProperty(Object.prototype, name)
  }
  pollute({ ...POLLUTION, v: 1 })
  try {
    assert.equal(readAddress({}), undefined)
    assert.equal(readSnapshot({}, 0), undefined)
    const read = readSnapshot(JSON.parse('{"seq":1,"state":"pending","expires_in_ms":5}'), 0)
    assert.deepEqual([read?.hint, read?.endedReason, read?.code], [null, null, null])
    const from = { sessionId: String(POLLUTION['session_id']), now: 0 }
    assert.equal(readFrame('{}', from), undefined)
  } finally {
    restore()
  }
})
