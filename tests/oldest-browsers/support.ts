import { createRequire } from 'node:module'
import type bcd from '@mdn/browser-compat-data'
import type { BrowserName, CompatStatement, Identifier } from '@mdn/browser-compat-data'

/** MDN's data of what each browser has. The package exports JSON only. */
export const DATA = createRequire(import.meta.url)('@mdn/browser-compat-data') as typeof bcd

/** The oldest browsers of the widget, the phone page, the frame and the portal. */
export const OLDEST: Partial<Readonly<Record<BrowserName, string>>> = {
  chrome: '109',
  chrome_android: '109',
  firefox: '115',
  firefox_android: '115',
  safari: '16.4',
  safari_ios: '16.4',
  samsunginternet_android: '21',
}

/** Whether each of the oldest browsers has a feature, without a flag and by its own name. */
export function isSupported({ support }: Pick<CompatStatement, 'support'>): boolean {
  return Object.entries(OLDEST).every(([browser, version]) => {
    const statements = [support[browser as BrowserName] ?? []].flat()
    return statements.some(
      ({ version_added, version_removed, flags, prefix, alternative_name }) =>
        flags === undefined &&
        prefix === undefined &&
        alternative_name === undefined &&
        isReached(version_added, version) &&
        !isReached(version_removed, version),
    )
  })
}

/** `≤37` and `16.4` are versions; `false` and `preview` are not. */
function isReached(first: string | boolean | null | undefined, version: string): boolean {
  if (typeof first !== 'string') return false
  const [wanted, given] = [first, version].map((text) => text.replace('≤', '').split('.'))
  if (!/^\d+$/.test(wanted?.[0] ?? '')) return false
  for (const index of [0, 1]) {
    const distance = Number(given?.[index] ?? 0) - Number(wanted?.[index] ?? 0)
    if (distance !== 0) return distance > 0
  }
  return true
}

/** A function, attribute or class of the library of browsers. */
export interface LibraryMember {
  /** Undefined for a class or a function of the global object. */
  readonly owner: string | undefined
  readonly name: string
  /** Undefined where the data do not say it, as for the language. */
  readonly isStatic: boolean | undefined
  readonly isSupported: boolean
}

/** What the data say of an entry itself, if anything. */
export function compatOf(entry: Identifier | undefined): CompatStatement | undefined {
  return entry?.['__compat']
}

/** The entries directly below one of MDN's. */
export function entriesOf(of: Identifier | undefined): readonly (readonly [string, Identifier])[] {
  return Object.entries(of ?? {}).flatMap(([name, value]) =>
    name === '__compat' ? [] : [[name, value as Identifier] as const],
  )
}

/** What the language and the DOM define, by class and name. */
export function libraryMembers(): readonly LibraryMember[] {
  const { builtins } = DATA.javascript
  const { Intl } = builtins ?? {}
  const language = [builtins, Intl].flatMap((tree) => membersIn(tree, () => undefined))
  // The data mark static members of the DOM, and name events and permissions by their kind.
  const isStatic = (name: string) => name.endsWith('_static')
  return [...language, ...membersIn(DATA.api, isStatic)]
}

function membersIn(
  tree: Identifier | undefined,
  isStatic: (name: string) => boolean | undefined,
): readonly LibraryMember[] {
  return entriesOf(tree).flatMap(([owner, entry]) => {
    const compat = compatOf(entry)
    const global = { owner: undefined, name: owner, isStatic: undefined }
    const members = entriesOf(entry).flatMap(([name, member]) => {
      const known = compatOf(member)
      if (known === undefined || !/^\w+$/.test(name) || /_(?:event|permission)$/.test(name))
        return []
      const plain = name.replace(/_static$/, '')
      return [{ owner, name: plain, isStatic: isStatic(name), isSupported: isSupported(known) }]
    })
    return compat === undefined
      ? members
      : [{ ...global, isSupported: isSupported(compat) }, ...members]
  })
}
