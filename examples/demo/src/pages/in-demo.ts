import { type Scenario, SCENARIOS } from '../scenarios.ts'
import { escape } from './markup.ts'

/** The addresses of the pages that the scenarios open. */
export interface Origins {
  readonly bankOrigin: string
  readonly phoneOrigin: string
  readonly relayOrigin: string
}

/** The page of a scenario. */
export function addressOf({ name, isRelayed, trick }: Scenario, origins: Origins): string {
  if (isRelayed === true) return `${origins.relayOrigin}/`
  const origin = trick === undefined ? `${origins.bankOrigin}/` : `${origins.phoneOrigin}/agent`
  return `${origin}?scenario=${name}`
}

/** Puts the links of the scenarios above a page, the phone beside it, and the activity below. */
export function inDemo(current: Scenario, origins: Origins, page: string): string {
  const { phoneOrigin } = origins
  const links = SCENARIOS.map((each: Scenario) => {
    const mark = each.name === current.name ? ' aria-current="page"' : ''
    return `<li><a href="${escape(addressOf(each, origins))}"${mark}>${escape(each.title)}</a></li>`
  })
  return `<nav class="demo-bar" aria-label="Scenarios"><p class="demo-name">Scenario</p><ul>${links.join('')}</ul>
<p class="demo-watch">${escape(current.watch)}</p></nav>
<div class="demo-stage">
<div class="demo-page">
${page}
</div>
<aside class="demo-phone" aria-label="Simulated phone"><iframe src="${escape(phoneOrigin)}/phone?scenario=${current.name}" title="Simulated phone"></iframe></aside>
</div>
<section class="demo-strip" aria-label="Activity"><iframe src="${escape(phoneOrigin)}/activity" title="Activity of browser, bank, phone, and service"></iframe></section>`
}
