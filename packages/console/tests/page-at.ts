import assert from 'node:assert/strict'
import type { Harness } from '../../../tests/harness/harness.ts'
import { match, type Opened, type OpenedAction, type View } from '../src/page.ts'
import { ROUTES } from '../src/routes.ts'

/** The page at an address, without a server and a session. */
function openedAt(address: string): Opened | OpenedAction {
  const { pathname, searchParams: query } = new URL(address, 'https://console.example')
  const [opened] = ROUTES.flatMap((route) => {
    const params = match(route.path, pathname)
    return params === undefined ? [] : [route.open({ params, query })]
  })
  assert.ok(opened, `no page ${address}`)
  return opened
}

/** Runs the action at an address, as an administrator who has confirmed it. */
export async function actAt({ service }: Harness, address: string): Promise<void> {
  await actionAt(address).run(service)
}

/** The action at an address. */
export function actionAt(address: string): OpenedAction {
  const opened = openedAt(address)
  assert.ok('run' in opened, `no action ${address}`)
  return opened
}

/** The markup of the page at an address, as an administrator sees it. */
export async function pageAt({ service }: Harness, address: string): Promise<string> {
  const draw = await openedAt(address).read(service)
  const session = { role: 'admin' } as View['session']
  const view = { now: service.clock.now(), session, publicOrigin: 'https://bond.example' }
  return draw(view).markup
}

/** Where the link of a page leads that has this text; undefined without one. */
export function linkIn(page: string, text: string | RegExp): string | undefined {
  const links = [...page.matchAll(/<a\b[^>]*?href="([^"]+)"[^>]*>(.*?)<\/a>/gs)]
  const isWanted = (shown = '') => (typeof text === 'string' ? shown === text : text.test(shown))
  return links.find(([, , shown]) => isWanted(shown))?.[1]?.replaceAll('&amp;', '&')
}

/** What the rows of a page have, on the page at an address and on all that its link leads to. */
export async function allPages(
  h: Harness,
  address: string,
  { text, row }: { text: string; row: RegExp },
) {
  const found: string[][] = []
  for (let to: string | undefined = address; to !== undefined && found.length < 9; ) {
    const page: string = await pageAt(h, to)
    found.push([...page.matchAll(row)].map(([, ...parts]) => parts.join(' ')))
    const next = linkIn(page, text)
    to = next?.startsWith('?') ? `${to.split('?')[0]}${next}` : next
  }
  return found
}

/** Asserts that pages have these rows in this order, none of them twice. */
export function assertPages(
  found: readonly (readonly string[])[],
  expected: readonly string[],
): void {
  assert.deepEqual(found.flat(), expected)
  assert.ok(found.length > 1, 'there is no second page')
}

/** The ids that the rows of a page have, in their order. */
export async function idsAt(h: Harness, address: string, row: RegExp): Promise<readonly string[]> {
  const [found = []] = await allPages(h, address, { text: 'no link', row })
  return found
}
