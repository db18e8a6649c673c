import { once } from 'node:events'
import { request } from 'node:http'
import type { Page } from 'playwright-core'
import { openBrowser } from '../tests/browser.ts'
import type { BenchReady } from './bench-service.ts'
import { ServiceCalls } from './phones.ts'
import { Child, percentile, type Ready, tenths } from './process.ts'
import { Site } from './widget/site.ts'

/**
 * Measures what a user of the widget waits for, in a real browser: from `requireBond` on a loaded
 * page until the QR code is painted, and from the service's acceptance of the assertion until the
 * success screen is painted. A bare page makes the same requests in turns: it draws a finished
 * picture, and changes one text at a frame of bare ws. `--json` prints one document.
 */
const BONDS = Number(process.env.BENCH_BONDS ?? 200)
const WARM_UP = 10
/** About as many bytes as the service's frame and its reply. */
const FRAME_BYTES = 900
const KINDS = ['widget', 'bare'] as const
type Kind = (typeof KINDS)[number]

const { origin, lead } = await Site.listen()
process.env.BENCH_PAGES = origin
using serviceChild = new Child('widget/service-process.ts')
using bareChild = new Child('bare-channel-process.ts')
const [service, bare] = await Promise.all([
  serviceChild.next<BenchReady>(),
  bareChild.next<Ready>(),
])
using site = await lead({ service, bare })
const calls = new ServiceCalls(service)
await using browser = await openBrowser({ asUsersHaveIt: true })
const page = await (await browser.newContext()).newPage()

/** Bonds the session of the widget. Returns the time at which the service's response was read. */
async function bondSession(): Promise<number> {
  const { bond } = site
  await calls.claim(bond)
  await calls.fetchEvidence(bond)
  await calls.attest(bond, calls.sign(bond))
  return now()
}

/** Makes bare ws send a frame and a reply. */
async function sendFrame(): Promise<number> {
  const path = `/${site.bond.created.id}?${FRAME_BYTES}?${FRAME_BYTES}`
  const call = request({ host: '127.0.0.1', port: bare.port, method: 'POST', path }).end()
  const [response] = (await once(call, 'response')) as [NodeJS.ReadableStream]
  response.resume()
  await once(response, 'end')
  return now()
}

const ACT: Readonly<Record<Kind, () => Promise<number>>> = { widget: bondSession, bare: sendFrame }
const codeMs: Record<Kind, number[]> = { widget: [], bare: [] }
const flipMs: Record<Kind, number[]> = { widget: [], bare: [] }
for (let round = -WARM_UP; round < BONDS; round++)
  for (const kind of KINDS) {
    const { shown, flipped } = await measure(page, kind)
    if (round < 0) continue
    codeMs[kind].push(shown)
    flipMs[kind].push(flipped)
  }

async function measure(on: Page, kind: Kind): Promise<{ shown: number; flipped: number }> {
  await on.goto(`${origin}/${kind}`)
  const shown = await on.evaluate<number>('show()')
  const accepted = await ACT[kind]()
  return { shown, flipped: (await on.evaluate<number>('flipped')) - accepted }
}

const of = (figures: readonly number[]) => ({
  p50: tenths(percentile(figures, 0.5)),
  p99: tenths(percentile(figures, 0.99)),
})
const side = (kind: Kind) => ({ code_ms: of(codeMs[kind]), flip_ms: of(flipMs[kind]) })
const figures = {
  bonds: BONDS,
  widget: side('widget'),
  bare: side('bare'),
  code_p50_ratio: tenths(side('widget').code_ms.p50 / side('bare').code_ms.p50),
  flip_p99_ratio: tenths(side('widget').flip_ms.p99 / side('bare').flip_ms.p99),
}

if (process.argv.includes('--json')) console.log(JSON.stringify(figures))
else {
  const row = (name: string, { p50, p99 }: { p50: number; p99: number }) =>
    console.log(`${name.padEnd(58)}${`${p50} / ${p99}`.padStart(16)}`)
  console.log(`${BONDS} bonds${' '.repeat(50)} p50 / p99 in ms`)
  row('requireBond until the code is painted, widget', figures.widget.code_ms)
  row('  the same requests and a finished picture', figures.bare.code_ms)
  row('assertion accepted until the success is painted, widget', figures.widget.flip_ms)
  row('  a frame of bare ws and a changed text', figures.bare.flip_ms)
  console.log(`code p50 ${figures.code_p50_ratio}×, flip p99 ${figures.flip_p99_ratio}×`)
}

/** Milliseconds of the clock that the browser shares. */
function now(): number {
  return performance.timeOrigin + performance.now()
}
