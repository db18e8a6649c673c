import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Desk } from '../harness/desk.ts'
import { Firefox, firefoxMissing } from '../harness/firefox.ts'

const inFirefox = { skip: firefoxMissing, timeout: 120_000 }
/** What an overlay may look like. Each covers the window. */
const OVERLAYS = {
  'that takes clicks': 'position:fixed;inset:0;background:#fff',
  'that lets clicks through': 'position:fixed;inset:0;background:#fff;pointer-events:none',
}

let desk: Desk
let firefox: Firefox
before(async () => {
  if (!firefoxMissing) [desk, firefox] = await Promise.all([Desk.start(null), Firefox.start()])
})
after(async () => {
  await firefox?.[Symbol.asyncDispose]()
  await desk?.[Symbol.asyncDispose]()
})

const CARD = `document.querySelector('[data-pulse-widget]').shadowRoot?.querySelector('.card')`
const screen = (name: string) => firefox.until(`${CARD}?.dataset.screen === '${name}'`)

/** Opens a page that has requested a bond and shows its QR code. */
async function open(): Promise<void> {
  await firefox.goto(desk.site)
  await firefox.evaluate(`(globalThis.seen = [],
    document.addEventListener('pulse:containment', ({ detail }) => seen.push(detail)), apply({ amount: 1 }))`)
  await firefox.until(`${CARD}?.querySelector('.qr path:last-child')?.getAttribute('d')`)
}

test('shows each state, bonds and completes in Firefox', inFirefox, async () => {
  await open()
  assert.equal(
    await firefox.evaluate(
      `getComputedStyle(${CARD}.querySelector('.qr path:last-child')).visibility`,
    ),
    'visible',
  )
  const { phone, view } = await desk.claim()
  await screen('scanned')
  await desk.service.attest(phone, view)
  await screen('bonded')
  assert.deepEqual(await firefox.evaluate('outcomes.at(-1)'), {
    state: 'bonded',
    sessionId: desk.session.id,
  })
  await desk.service.complete(desk.session, {}, desk.bank)
  await screen('completed')
})

test('resumes after a reload, and cancels, in Firefox', inFirefox, async () => {
  await open()
  const { session } = desk
  await firefox.evaluate('void location.reload()').catch(() => {})
  await firefox.until(`document.readyState === 'complete' && globalThis.outcomes?.length === 0`)
  await firefox.evaluate('apply({ amount: 1 })')
  await firefox.until(`${CARD}?.querySelector('.qr path:last-child')?.getAttribute('d')`)
  assert.equal(desk.session.id, session.id)
  await firefox.evaluate(
    `[...${CARD}.querySelectorAll('button')].find((button) => button.textContent === 'Cancel').click()`,
  )
  await screen('killed')
  assert.equal(await desk.stateOf(), 'killed')
})

for (const [kind, style] of Object.entries(OVERLAYS))
  test(
    `reports unverified in Firefox, and hides the QR code below an overlay ${kind}`,
    inFirefox,
    async () => {
      await open()
      await firefox.until(`seen.at(-1)?.verdict === 'unverified'`)
      await firefox.evaluate(`(() => {
        const cover = document.createElement('div')
        cover.style.cssText = '${style}'
        document.body.append(cover)
      })()`)
      await firefox.until(`seen.at(-1)?.verdict === 'breached'`)
      assert.deepEqual(await firefox.evaluate('seen.at(-1).breaches'), ['covered'])
      assert.equal(
        await firefox.evaluate(
          `getComputedStyle(${CARD}.querySelector('.qr path:last-child')).visibility`,
        ),
        'hidden',
      )
      await firefox.evaluate('document.body.lastElementChild.remove()')
      await firefox.until(`seen.at(-1)?.verdict === 'unverified'`)
    },
  )
