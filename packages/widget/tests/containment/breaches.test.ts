import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { browserTest, Harness, noBrowser, outcome, require, until } from '../harness.ts'
import { act, openWaiting, PAST_GRACE_MS, type Scene, verdict, WIDGET } from './scene.ts'

const HIDDEN = { state: 'unavailable', sessionId: null, reason: 'container_hidden' }
let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

/** Adds a layer over the whole window, or over the widget. */
const layer = (style: string, tag = 'div') =>
  `const cover = document.createElement('${tag}'); cover.style.cssText = ${JSON.stringify(style)}; document.body.append(cover)`
const FULL = 'position:fixed;inset:0;'
const IN_BOX = `<div id="box">${WIDGET}</div>`
const box = (style: string): Scene => ({
  body: IN_BOX,
  change: `box.style.cssText = ${JSON.stringify(style)}`,
})
const widget = (style: string): Scene => ({
  change: `widget.style.cssText = ${JSON.stringify(style)}`,
})
/** Covers the widget with an element that has the same place. */
const onTop = (tag: string, style: string): Scene => ({
  change: `const { left, top, width, height } = widget.getBoundingClientRect();
    const cover = document.createElement('${tag}');
    cover.style.cssText = 'position:absolute;border:0;left:' + left + 'px;top:' + top + 'px;width:' + width + 'px;height:' + height + 'px;' + ${JSON.stringify(style)};
    document.body.append(cover)`,
})

const BREACHES: Readonly<Record<string, readonly [rule: string, Scene]>> = {
  'removed from the page': ['detached', { change: 'widget.remove()' }],
  'not displayed': ['not_displayed', widget('display:none')],
  'in a parent that is not displayed': ['not_displayed', box('display:none')],
  'in a closed <details>': [
    'not_displayed',
    { body: `<details open id="box">${WIDGET}</details>`, change: 'box.open = false' },
  ],
  'hidden by content-visibility': ['not_displayed', box('content-visibility:hidden')],
  'not visible': ['not_visible', box('visibility:hidden')],
  'without pointer events': ['not_interactive', box('pointer-events:none')],
  inert: ['not_interactive', { body: IN_BOX, change: 'box.inert = true' }],
  transparent: ['transparent', box('opacity:0')],
  'transparent by two ancestors': [
    'transparent',
    {
      body: `<div id="box">${IN_BOX}</div>`,
      change: 'for (const each of document.querySelectorAll("#box")) each.style.opacity = .6',
    },
  ],
  blurred: ['filtered', box('filter:blur(6px)')],
  inverted: ['filtered', box('filter:drop-shadow(0 0 2px rgb(0 0 0 / 0.5)) invert(1)')],
  'without brightness': ['filtered', box('filter:brightness(.1)')],
  blended: ['filtered', box('mix-blend-mode:difference')],
  masked: ['masked', box('mask-image:linear-gradient(#000 50%,transparent 50%)')],
  mirrored: ['distorted', box('transform:scaleX(-1)')],
  'mirrored by its own property': ['distorted', box('scale:1 -1')],
  'turned around in space': ['distorted', box('transform:rotateY(180deg)')],
  'upside down': ['distorted', box('rotate:180deg')],
  rotated: ['distorted', box('transform:rotate(90deg)')],
  skewed: ['distorted', box('transform:skewX(12deg)')],
  'tilted in perspective': ['distorted', box('transform:perspective(400px) rotateX(40deg)')],
  'shrunk by a transform': ['scaled', box('transform:scale(.4)')],
  'shrunk by zoom': ['scaled', box('zoom:.5')],
  'cut by a small box': ['clipped', box('height:90px;overflow:hidden')],
  'cut by a box of no height': ['clipped', box('height:0;overflow:hidden')],
  'cut by a box that it is shifted in': [
    'clipped',
    {
      body: IN_BOX,
      change:
        'box.style.cssText = "height:420px;overflow:hidden"; widget.style.marginTop = "-100px"',
    },
  ],
  'in a scroller that is smaller than the QR code': ['clipped', box('height:120px;overflow:auto')],
  'cut by clip-path': ['clipped', box('clip-path:inset(0 0 50% 0)')],
  'cut to a circle': ['clipped', widget('clip-path:circle(90px)')],
  'left of the page': ['off_screen', widget('position:absolute;left:-9999px;width:320px')],
  'partly left of the page': ['off_screen', widget('margin-left:-200px;width:320px')],
  'above the page': ['off_screen', widget('position:fixed;top:-900px;width:320px')],
  'moved off the page': ['off_screen', box('transform:translateX(-2000px)')],
  'fixed below the window': ['off_screen', widget('position:fixed;top:120vh;width:320px')],
  'covered by a full overlay': ['covered', { change: layer(`${FULL}background:#fff`) }],
  'covered by an overlay of its own size': ['covered', onTop('div', 'background:#eee')],
  'covered by a click-through overlay': [
    'covered',
    { change: layer(`${FULL}background:#fffffff0;pointer-events:none`) },
  ],
  'covered by another QR code that lets clicks through': [
    'covered',
    onTop('canvas', 'pointer-events:none'),
  ],
  'covered by an image': ['covered', onTop('img', '')],
  'covered by a frame': ['covered', onTop('iframe', '')],
  'covered by a blurring overlay': [
    'covered',
    { change: layer(`${FULL}backdrop-filter:blur(8px)`) },
  ],
  'covered by a pseudo-element': [
    'covered',
    {
      change: `const sheet = new CSSStyleSheet();
        sheet.replaceSync('body::after{content:"";position:fixed;inset:0;background:#123}');
        document.adoptedStyleSheets = [sheet]`,
    },
  ],
  'below its own page': [
    'covered',
    {
      body: `<div style="background:#fff">${IN_BOX}</div>`,
      change: 'box.style.cssText = "position:relative;z-index:-1"',
    },
  ],
  'covered in one corner of the QR code': [
    'covered',
    {
      change: `const code = widget.shadowRoot.querySelector('.qr, .badge').getBoundingClientRect();
        const cover = document.createElement('div');
        cover.style.cssText = 'position:absolute;background:#fff;width:60px;height:60px;left:' + (code.left - 5) + 'px;top:' + (code.top - 5) + 'px';
        document.body.append(cover)`,
    },
  ],
  'below a banner that leaves no room to scroll it free': [
    'covered',
    {
      body: `${WIDGET}<div style="height:2000px"></div>`,
      change: layer('position:fixed;inset:auto 0 0;height:80vh;background:#fff'),
    },
  ],
  'below two bars that leave no room between them': [
    'covered',
    {
      body: `${WIDGET}<div style="height:2000px"></div>`,
      change: `${layer('position:fixed;inset:0 0 auto;height:45vh;background:#fff')};
        { ${layer('position:fixed;inset:auto 0 0;height:45vh;background:#fff')} }`,
    },
  ],
  'in a box that begins to cut': [
    'clipped',
    {
      body: `<div id="box" style="height:60px">${WIDGET}</div>`,
      change: 'box.style.overflow = "clip"',
    },
  ],
  'below a modal dialog that opens over it': [
    'covered',
    {
      body: `${WIDGET}<dialog id="box" style="width:90vw;height:90vh">Stay signed in?</dialog>`,
      change: 'box.showModal()',
    },
  ],
  'below a popover that opens over it': [
    'covered',
    {
      body: `${WIDGET}<div popover id="box" style="width:90vw;height:90vh">Offer</div>`,
      change: 'box.showPopover()',
    },
  ],
  'below an image of the page that a view transition keeps': [
    'clipped',
    {
      body: `<style>::view-transition-group(root),::view-transition-old(root),::view-transition-new(root){animation-duration:1e6s}</style>${WIDGET}`,
      change: 'document.startViewTransition(() => {})',
    },
  ],
  'below a layer that appears with the scroll position': [
    'covered',
    {
      body: `<style>@keyframes appear{from{transform:translateY(-100%)}}#box{position:fixed;inset:0;background:#fff;animation:appear linear both;animation-timeline:scroll(root);animation-range:0px 50px}</style>
        ${WIDGET}<div id="box"></div><div style="height:2000px"></div>`,
      change: 'scrollTo(0, 60)',
    },
  ],
  'below a panel that the page fixes to the window when it is scrolled': [
    'covered',
    {
      body: `${WIDGET}<div style="height:2000px"></div><div id="box" style="height:90vh;background:#fff">Offers</div>`,
      change: `addEventListener('scroll', () => { box.style.cssText += ';position:fixed;inset:0 0 auto' });
        scrollTo(0, 60)`,
    },
  ],
  'faded by the scroll position': [
    'transparent',
    {
      body: `<style>@keyframes fade{to{opacity:0}}#box{animation:fade linear both;animation-timeline:scroll(root);animation-range:0px 60px}</style>
        ${IN_BOX}<div style="height:2000px"></div>`,
      change: 'scrollTo(0, 60)',
    },
  ],
}

test(
  'closes when breaches of several kinds alternate for the time of the grace',
  browserTest,
  async () => {
    const page = await openWaiting(h, { body: IN_BOX })
    await verdict(page, 'ok')
    for (const style of ['opacity:0', 'filter:blur(6px)', 'visibility:hidden', 'opacity:0']) {
      await act(page, `box.style.cssText = ${JSON.stringify(style)}`)
      await page.clock.runFor(3_000)
    }
    // At once: the clock of the page goes on, and would end the grace of the last breach too.
    assert.equal(await page.locator('.card').getAttribute('data-screen'), 'obstructed')
    assert.deepEqual(await outcome(page), HIDDEN)
  },
)

for (const [name, [rule, scene]] of Object.entries(BREACHES))
  test(
    `hides the QR code and closes when the container is ${name}, later and from the start`,
    browserTest,
    async () => {
      const page = await openWaiting(h, scene)
      await verdict(page, 'ok')
      await act(page, scene.change)
      const { breaches } = await verdict(page, 'breached')
      assert.ok(breaches.includes(rule), String(breaches))
      if (rule !== 'detached')
        assert.equal(await page.locator('.card').getAttribute('data-breached'), 'true')
      await page.clock.runFor(PAST_GRACE_MS)
      assert.deepEqual(await outcome(page), HIDDEN)
      await until(() => h.worker.reports.at(-1)?.sessionId === h.session.id)
      assert.deepEqual(h.worker.reports.at(-1)?.body, { verdict: 'breached', breaches })
      if (rule === 'detached') return

      assert.equal(await page.locator('.card').getAttribute('data-screen'), 'obstructed')
      assert.equal(await page.locator('.qr').count(), 0)
      await page.evaluate('seen.length = 0')
      await require(page)
      await verdict(page, 'breached')
      await page.clock.runFor(PAST_GRACE_MS)
      assert.deepEqual(await outcome(page), HIDDEN)
    },
  )
