import type { BankDemo, DemoScenario } from '../demo.ts'
import { type Markup, markup } from './markup.ts'

/** What a demo shows around the bank's page. */
export interface DemoFrame {
  readonly demo: BankDemo
  /** The current scenario. */
  readonly scenario: DemoScenario
}

/**
 * Puts the links of the scenarios above the bank's page, the simulated phone beside it, and the
 * activity below. The phone is a frame of another origin, so the bank's page cannot use it.
 */
export function inDemo({ demo, scenario }: DemoFrame, bankPage: Markup): Markup {
  const { phoneOrigin, scenarios } = demo
  return markup`<nav class="demo-bar" aria-label="Scenarios">
<p class="demo-name">Scenario</p>
<ul>${scenarios.map((each) => link(each, each === scenario))}</ul>
<p class="demo-watch">${scenario.watch}</p>
</nav>
<div class="demo-stage">
<div class="demo-page">
${bankPage}
</div>
<aside class="demo-phone" aria-label="Simulated phone"><iframe src="${phoneOrigin}/phone?scenario=${scenario.name}" title="Simulated phone"></iframe></aside>
</div>
<section class="demo-strip" aria-label="Activity"><iframe src="${phoneOrigin}/activity" title="Activity of browser, bank, phone, and service"></iframe></section>`
}

function link({ name, title, url }: DemoScenario, isCurrent: boolean): Markup {
  const address = url ?? `/?scenario=${name}`
  return markup`<li><a href="${address}"${isCurrent && markup` aria-current="page"`}>${title}</a></li>`
}
