import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserTest, Harness, noBrowser, outcome, require } from '../harness.ts'
import { readQrFrom } from '../read-qr.ts'
import {
  act,
  type Containment,
  openScene,
  PAST_GRACE_MS,
  type Scene,
  verdict,
  WIDGET,
} from './scene.ts'

let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

/** A layout that a user can approve on. */
interface Layout extends Scene {
  /** Whether the change happens with the request of the bond, and not later. */
  readonly isEarly?: true
  /** Brings the QR code into view, as a user would. */
  readonly show?: string
  readonly expected?: Containment['verdict']
  /** The window, where the layout needs another one. */
  readonly viewport?: { readonly width: number; readonly height: number }
}

const TALL = '<p style="height:1500px">Terms</p>'
const SCROLL_TO = 'widget.scrollIntoView({ block: "center", inline: "center" })'
const fixed = (style: string, text = '') =>
  `const bar = document.createElement('div'); bar.textContent = '${text}'; bar.style.cssText = 'position:fixed;z-index:9;' + ${JSON.stringify(style)}; document.body.append(bar)`

const LAYOUTS: Readonly<Record<string, Layout>> = {
  'below the fold': { body: TALL + WIDGET, show: SCROLL_TO },
  'scrolled out of view': { body: WIDGET + TALL, change: 'scrollTo(0, 1200)', show: SCROLL_TO },
  'far to the right of a wide page': {
    body: `<div style="width:3000px;padding-left:2500px">${WIDGET}</div>`,
    show: SCROLL_TO,
  },
  'far to the left of a right-to-left page': {
    body: `<div style="width:3000px;padding-right:2500px">${WIDGET}</div>`,
    change: 'document.documentElement.dir = "rtl"',
    show: SCROLL_TO,
  },
  'in an inner scroller': {
    body: `<div style="height:380px;overflow:auto">${TALL}${WIDGET}</div>`,
    show: SCROLL_TO,
  },
  'in a scroller within a scroller': {
    body: `<div style="height:420px;overflow:auto">${TALL}<div style="height:380px;overflow-y:scroll">${TALL}${WIDGET}</div></div>`,
    show: SCROLL_TO,
  },
  'in a page whose body scrolls': {
    body: `<style>html,body{height:100%;margin:0;overflow:hidden}body{overflow:auto}</style>${TALL}${WIDGET}`,
    show: SCROLL_TO,
  },
  'in a right-to-left scroller': {
    body: `<div dir="rtl" style="width:380px;overflow:auto"><div style="width:2000px;padding-right:1500px">${WIDGET}</div></div>`,
    show: SCROLL_TO,
  },
  'in a chat that scrolls from its end': {
    body: `<div style="height:380px;overflow:auto;display:flex;flex-direction:column-reverse"><div>last</div><div style="flex:none;height:1200px"></div><div>${WIDGET}</div></div>`,
    show: SCROLL_TO,
  },
  'in a slide of a scroll-snap carousel': {
    body: `<div style="display:flex;overflow-x:auto;scroll-snap-type:x mandatory;width:400px"><div style="flex:none;width:400px;scroll-snap-align:start">One</div><div style="flex:none;width:400px;scroll-snap-align:start">${WIDGET}</div></div>`,
    show: SCROLL_TO,
  },
  'in a slide that a translated track moves away and back': {
    body: `<div style="overflow:hidden;width:400px"><div id="track" style="display:flex"><div style="flex:none;width:400px">${WIDGET}</div><div style="flex:none;width:400px">Two</div></div></div>`,
    change: 'track.style.transform = "translateX(-400px)"',
    expected: 'unverified',
    show: 'track.style.transform = "translateX(0)"',
  },
  'in a Bootstrap modal that fades in': {
    body: `<style>.modal{position:fixed;inset:0;z-index:1055;display:none;overflow:hidden auto;opacity:0;transition:opacity .15s linear}
      .show{opacity:1}.dialog{position:relative;margin:8px;pointer-events:none;transform:translate(0,-50px);transition:transform .3s ease-out}.show .dialog{transform:none}
      .content{position:relative;display:flex;flex-direction:column;pointer-events:auto;background:#fff}.backdrop{position:fixed;inset:0;z-index:1050;background:#000;opacity:.5}</style>
      <div class="modal" id="modal" style="display:block"><div class="dialog"><div class="content">${WIDGET}</div></div></div><div class="backdrop"></div>`,
    change: 'setTimeout(() => modal.classList.add("show"), 300)',
    isEarly: true,
  },
  'in a MUI dialog that grows': {
    body: `<div role="presentation" style="position:fixed;z-index:1300;inset:0"><div style="position:fixed;inset:0;background:rgba(0,0,0,.5);z-index:-1"></div>
      <div style="height:100%;display:flex;justify-content:center;align-items:center"><div id="paper" style="background:#fff;border-radius:4px;margin:16px;max-height:calc(100% - 32px);overflow-y:auto;box-shadow:0 11px 15px -7px rgba(0,0,0,.2);transform:scale(.75,.5625);opacity:0;transition:opacity 225ms,transform 150ms">${WIDGET}</div></div></div>`,
    change: 'setTimeout(() => { paper.style.transform = "none"; paper.style.opacity = 1 }, 300)',
    isEarly: true,
  },
  'in a native modal dialog': {
    body: `<dialog id="dialog">${WIDGET}</dialog>`,
    change: 'dialog.showModal()',
    isEarly: true,
  },
  'in a tab that opens later': {
    body: `<div id="panel" hidden>${WIDGET}</div>`,
    change: 'setTimeout(() => { panel.hidden = false }, 4000)',
    isEarly: true,
  },
  'in <details> that open later': {
    body: `<details id="more"><summary>Confirm</summary>${WIDGET}</details>`,
    change: 'setTimeout(() => { more.open = true }, 4000)',
    isEarly: true,
  },
  'in an accordion that slides open': {
    body: `<div id="fold" style="overflow:hidden;max-height:0;transition:max-height .35s">${WIDGET}</div>`,
    change: 'setTimeout(() => { fold.style.maxHeight = "600px" }, 1000)',
    isEarly: true,
  },
  'below a sticky header': {
    body: `<div style="position:sticky;top:0;height:70px;background:#fff;z-index:2">Bank</div>${WIDGET}${TALL}`,
    change: 'scrollTo(0, 160)',
    expected: 'unverified',
    show: 'scrollTo(0, 0)',
  },
  'partly below a cookie banner': {
    body: `<p style="height:100px">Loan</p>${WIDGET}${TALL}`,
    change: fixed('inset:auto 0 0;height:330px;background:#222'),
    expected: 'unverified',
    show: 'scrollTo(0, 180)',
  },
  'beside a chat button': {
    body: WIDGET + TALL,
    change: fixed('right:12px;bottom:12px;width:60px;height:60px;background:#06c'),
  },
  'below a loading screen that passes': {
    change: `${fixed('inset:0;background:#fff')}; setTimeout(() => bar.remove(), 6000)`,
  },
  'below the empty container of passing messages': {
    change: fixed('inset:16px;pointer-events:none'),
    expected: 'unverified',
  },
  'below the transparent layer of an extension': {
    change: fixed('inset:0'),
    expected: 'unverified',
  },
  'dimmed by a dialog of the page': {
    change: fixed('inset:0;background:rgba(0,0,0,.5)'),
    expected: 'unverified',
  },
  'above a decorative background, below a transparent layer': {
    body: `<div style="position:absolute;inset:0;z-index:-1;pointer-events:none;background:linear-gradient(#acf,#fca)"></div>${WIDGET}`,
    change: fixed('inset:0;pointer-events:none'),
    expected: 'unverified',
  },
  'in a card with a shadow filter': {
    body: `<div style="filter:drop-shadow(0 1px 2px rgb(0 0 0 / .2))">${WIDGET}</div>`,
    expected: 'unverified',
  },
  'in a card with round corners': {
    body: `<div style="overflow:hidden;border-radius:24px;clip-path:inset(0 round 12px)">${WIDGET}</div>`,
  },
  'in a page that waits for a layer of its own': {
    body: `<div style="will-change:transform;contain:layout paint;isolation:isolate">${WIDGET}</div>`,
  },
  'in a page at a zoom of 125 %': { body: `<div style="zoom:1.25">${WIDGET}</div>` },
  'in a browser at a zoom of 200 %': {
    body: WIDGET + TALL,
    viewport: { width: 210, height: 280 },
    show: SCROLL_TO,
  },
  'in the slot of a component that scrolls': {
    body: `<div><template shadowrootmode="open"><div style="height:380px;overflow:auto">${TALL}<slot></slot></div></template>${WIDGET}</div>`,
    show: SCROLL_TO,
  },
}

for (const [name, { isEarly, show, expected = 'ok', viewport, ...scene }] of Object.entries(
  LAYOUTS,
))
  test(`stays open when the container is ${name}`, browserTest, async () => {
    const page = await openScene(h, scene)
    if (viewport) await page.setViewportSize(viewport)
    if (isEarly) await act(page, scene.change)
    await require(page)
    await page.locator('.qr').waitFor({ state: 'attached' })
    if (!isEarly) await act(page, scene.change)
    await page.clock.runFor(PAST_GRACE_MS)
    assert.equal((await verdict(page, expected)).verdict, expected)
    if (show) {
      await act(page, show)
      await verdict(page, 'ok')
    }
    await page.locator('[data-breached=false] .qr path').last().waitFor({ state: 'attached' })
    if (!viewport) assert.equal(await readQrFrom(page), h.session.payload)
    h.session.moved('bonded')
    assert.equal((await outcome(page)).state, 'bonded')
  })
