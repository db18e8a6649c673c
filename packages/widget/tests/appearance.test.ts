import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import { browserTest, computed, Harness, init, noBrowser, require } from './harness.ts'
import { quietZoneOf } from './read-qr.ts'

let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

async function styled(page: Page, appearance: object): Promise<void> {
  await init(page, { appearance })
  await require(page, { context: appearance })
  await page.locator('.qr').waitFor()
}

/** The lowest contrast that the card has with its link, button and tones, by the pixels drawn. */
function leastContrast(page: Page): Promise<number> {
  return page.evaluate(`(() => {
    const card = document.querySelector('[data-pulse-widget]').shadowRoot.querySelector('.card')
    const context = document.createElement('canvas').getContext('2d')
    const probe = card.appendChild(document.createElement('span'))
    const luminance = (name) => {
      probe.style.color = 'var(' + name + ')'
      context.fillStyle = getComputedStyle(probe).color
      context.fillRect(0, 0, 1, 1)
      const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
      return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    const tones = ['busy', 'good', 'calm', 'warn', 'stop'].flatMap((tone) => {
      card.dataset.tone = tone
      return ['--link', '--tone', '--muted', '--ink'].map((name) => contrast(luminance(name), luminance('--surface')))
    })
    probe.remove()
    return Math.min(...tones)
  })()`)
}

for (const theme of ['light', 'dark'] as const)
  test(
    `keeps a contrast of 4.5:1 for every accent in the ${theme} theme`,
    browserTest,
    async (t) => {
      const levels = ['00', '55', 'aa', 'ff']
      const accents = levels.flatMap((r) =>
        levels.flatMap((g) => levels.map((b) => `#${r}${g}${b}`)),
      )
      const page = await h.open()
      await styled(page, { theme })
      let least = Number.POSITIVE_INFINITY
      for (const accent of accents) {
        await page
          .locator('.card')
          .evaluate((card, to) => card.style.setProperty('--accent', to), accent)
        const found = await leastContrast(page)
        assert.ok(found >= 4.5, `${accent}: ${found}`)
        least = Math.min(least, found)
      }
      t.diagnostic(`least contrast ${least.toFixed(2)}`)
    },
  )

test('the QR code has a light border of four modules on each side', browserTest, async () => {
  for (const height of [168, 440]) {
    const body = `<div data-pulse-widget style="min-height:${height}px;max-width:360px"></div>`
    const page = await h.waiting({ body, colorScheme: 'light' })
    const border = quietZoneOf(await page.locator('.qr').screenshot())
    assert.ok(Math.min(...border) >= 4, `${height} px: ${border.join(', ')}`)
  }
})

test('applies theme, accent, radius and font to the card', browserTest, async () => {
  const page = await h.open({ colorScheme: 'light' })
  await styled(page, { theme: 'dark', accent: '#7a0099', radius: 3, font: 'Georgia, serif' })
  const card = page.locator('.card')
  assert.equal(await computed(card, 'color-scheme'), 'dark')
  assert.equal(await computed(card, 'border-top-left-radius'), '3px')
  assert.equal(await computed(card, 'font-family'), 'Georgia, serif')
  assert.equal(await computed(card, 'background-color'), 'rgb(22, 28, 35)')
  assert.match(await computed(page.locator('.link').first(), 'color'), /^oklch\(0\.7 /)
})

test('follows the color scheme of the page by default and with auto', browserTest, async () => {
  for (const appearance of [{}, { theme: 'auto' }]) {
    const page = await h.open({ colorScheme: 'dark' })
    await styled(page, appearance)
    assert.equal(await computed(page.locator('.card'), 'background-color'), 'rgb(22, 28, 35)')
  }
})

test(
  'a page that changes its appearance object after init changes nothing',
  browserTest,
  async () => {
    const page = await h.open()
    await page.evaluate(`globalThis.look = { radius: 2 }
    Pulse.init({ publishableKey: 'pk_beta_${'k'.repeat(22)}', workflow: 'credit_application', sessionEndpoint: '/bond-session', appearance: look })
    look.radius = '0);background:url(//x)'`)
    await require(page)
    await page.locator('.qr').waitFor()
    assert.equal(await computed(page.locator('.card'), 'border-top-left-radius'), '2px')
  },
)
