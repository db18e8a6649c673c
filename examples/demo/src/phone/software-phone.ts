import { readFile } from 'node:fs/promises'
import { escape } from '../pages/markup.ts'

/** Where a sandbox serves the phone page with a software key, at the service's own origin. */
export const SOFTWARE_PHONE_PATHS = {
  page: '/demo/phone',
  inbox: '/demo/inbox',
  key: '/demo/software-key.js',
  passkey: '/demo/passkey.js',
} as const

/** The page of the service that each page with a software key is. */
export const SERVED_PAGES = {
  [SOFTWARE_PHONE_PATHS.page]: '/bond',
  [SOFTWARE_PHONE_PATHS.inbox]: '/inbox',
} as const

/** The pages around the phone. All of them may frame it. */
export interface PhoneSurroundings {
  readonly serviceOrigin: string
  /** The only origin that the key signs for, beside that of the phone page. */
  readonly bankOrigin: string
  /** The origin of the frame around the phone page. */
  readonly phoneOrigin: string
  readonly relayOrigin: string
}

/** A document as the service sends it. */
export interface ServedDocument {
  readonly html: string
  readonly contentSecurityPolicy: string
}

/**
 * Turns the phone page that the service serves into the demo's: it loads the script of the software
 * key first, and only the pages of the demo may frame it. All else is as the service sends it.
 *
 * @param path the address of the page at the service
 * @throws {Error} where the page has another form, because the demo needs its script
 */
export function softwarePhone(
  { html, contentSecurityPolicy }: ServedDocument,
  { serviceOrigin, bankOrigin, phoneOrigin, relayOrigin }: PhoneSurroundings,
  path = '/bond',
): ServedDocument {
  const { key } = SOFTWARE_PHONE_PATHS
  const script = `<script src="${key}" data-bank="${escape(bankOrigin)}" data-shell="${escape(phoneOrigin)}" data-path="${path}"></script>`
  const ancestors = `frame-ancestors ${phoneOrigin} ${bankOrigin} ${relayOrigin}`
  const framed = replaceOnce(contentSecurityPolicy, `frame-ancestors 'none'`, ancestors)
  return {
    html: replaceOnce(html, '<head>', `<head>\n${script}`),
    contentSecurityPolicy: replaceOnce(framed, 'script-src ', `script-src ${serviceOrigin}${key} `),
  }
}

/** Reads the two scripts of the software key, by path. */
export async function softwareKeyScripts(): Promise<ReadonlyMap<string, string>> {
  const { key, passkey } = SOFTWARE_PHONE_PATHS
  const read = (name: string) => readFile(new URL(`../../browser/${name}`, import.meta.url), 'utf8')
  return new Map([
    [key, await read('software-key.js')],
    [passkey, await read('passkey.js')],
  ])
}

function replaceOnce(text: string, part: string, by: string): string {
  const [before, after, ...others] = text.split(part)
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`the phone page does not have ${part} once`)
  return before + by + after
}
