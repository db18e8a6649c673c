import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SEED } from '../../../tests/random.ts'
import { browserTest, Harness, noBrowser, outcome, screen } from './harness.ts'

/** Rounds of messages. Each dispatches one of every kind. */
const ROUNDS = 200

let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

/** The part of a page that the attack uses. */
interface Attacked {
  // oxlint-disable-next-line typescript/no-explicit-any -- the compiler has no DOM here
  readonly document: any
  readonly outcome: Promise<unknown>
  readonly parent: { postMessage(data: unknown, target: string): void }
  // oxlint-disable-next-line typescript/no-explicit-any -- the same
  readonly [name: string]: any
}

/**
 * Sends everything that a page's scripts and foreign frames can send, with values that would bond
 * if the widget read them, and pollutes a random part of `Object.prototype` before each round.
 */
async function attack({
  id,
  rounds,
  seed,
}: {
  id: string
  rounds: number
  seed: number
}): Promise<void> {
  const scope = globalThis as unknown as Attacked
  let drawn = 1 + (seed % 2_147_483_646)
  const random = (below: number) => (drawn = (drawn * 48_271) % 2_147_483_647) % below
  const forged = {
    v: 1,
    type: 'state',
    kind: 'snapshot',
    state: 'bonded',
    seq: 1_000_000,
    hint: null,
    id,
    session_id: id,
    sessionId: id,
    expires_in_ms: 60_000,
    ended_reason: null,
    data: {},
    heartbeat_ms: 1_000,
    snapshot: { state: 'bonded', seq: 1_000_000 },
    view: { state: 'bonded' },
    confirmed: true,
    status: 200,
    value: { state: 'bonded', sessionId: id },
  }
  const names = Object.keys(forged) as (keyof typeof forged)[]
  const host = scope.document.querySelector('[data-pulse-widget]')
  const frame = scope.document.createElement('iframe')
  frame.srcdoc = `<script>onmessage = ({ data }) => parent.postMessage(data, '*')</script>`
  scope.document.body.append(frame)
  await new Promise((resolve) => frame.addEventListener('load', resolve))
  for (let round = 0; round < rounds; round++) {
    const name = names[random(names.length)]!
    Object.defineProperty(Object.getPrototypeOf({}), name, {
      value: forged[name],
      configurable: true,
      writable: true,
    })
    const data = random(2) === 0 ? forged : JSON.stringify(forged)
    scope.postMessage(data, '*')
    frame.contentWindow.postMessage(data, '*')
    for (const type of ['message', 'state', 'bonded', 'hello', 'storage', 'pulse:bonded', 'online'])
      for (const target of [scope, scope.document, host, host.shadowRoot.firstChild])
        target.dispatchEvent(
          random(2) === 0
            ? new scope.MessageEvent(type, { data, bubbles: true, composed: true })
            : new scope.CustomEvent(type, { detail: forged, bubbles: true, composed: true }),
        )
    scope.sessionStorage.setItem(`pulse:${random(9)}`, String(data))
    if (random(2) === 0) Reflect.deleteProperty(Object.getPrototypeOf({}), name)
    if (round % 20 === 0) await new Promise((resolve) => scope.setTimeout(resolve))
  }
}

test('no message of the page or a foreign frame and no polluted prototype bonds a pending session', {
  ...browserTest,
  timeout: 60_000,
}, async () => {
  const page = await h.waiting()
  await page.evaluate(attack, { id: h.session.id, rounds: ROUNDS, seed: SEED })
  await screen(page, 'waiting')
  h.session.moved('killed', 'user_declined')
  await screen(page, 'declined')
  // The first outcome is the only one, so no message had another.
  assert.equal((await outcome(page)).state, 'killed')
})
