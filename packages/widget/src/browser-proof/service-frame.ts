import { bare, ownMembers } from '@bonded/contract'
import { parseUrl } from '../parse-url.ts'
import type { SessionAddress } from '../session/snapshot.ts'
import { element } from '../view/dom.ts'
import type { FrameMessage } from './proof-reducer.ts'

/** Every message between a page and the frame has this as its member `bonded`. */
const PROTOCOL = 'frame/v1'
const MESSAGES: readonly unknown[] = ['ready', 'blocked', 'done', 'failed'] satisfies FrameMessage[]

/** The service's frame (protocol 14), which asks for the passkey where the page may not. */
export interface ServiceFrame {
  readonly node: HTMLIFrameElement
  /** Gives the frame its session. */
  readonly start: (members: object) => void
}

/**
 * The address of the frame in the `browser` of a public view; undefined unless the service that
 * serves the session serves the frame as well, because the frame gets the session's watch token.
 */
export function frameUrlOf(browser: unknown, { apiBaseUrl }: SessionAddress): URL | undefined {
  const url = parseUrl(ownMembers(browser)?.['frame_url'])
  return url?.origin === new URL(apiBaseUrl).origin ? url : undefined
}

/** The color scheme in which the card is drawn. A frame of another site does not inherit it. */
export function themeOf(node: Element): 'light' | 'dark' {
  // `--ink` of the dark card.
  return getComputedStyle(node).color === 'rgb(233, 238, 243)' ? 'dark' : 'light'
}

/** The accent that the page has set, or nothing. */
export function accentOf(node: Element): string {
  return getComputedStyle(node).getPropertyValue('--accent')
}

/** Makes the frame. It receives messages until the signal is aborted. */
export function serviceFrame(
  { href, origin }: URL,
  from: {
    readonly title: string
    readonly signal: AbortSignal
    readonly hear: (message: FrameMessage) => void
  },
): ServiceFrame {
  const { title, signal, hear } = from
  const node = element('iframe', { src: href, title, allow: 'publickey-credentials-get' })
  node.addEventListener('load', () => hear('loaded'))
  const onMessage = (event: MessageEvent<unknown>) => {
    if (!event.source || event.source !== node.contentWindow || event.origin !== origin) return
    const { bonded, type } = ownMembers(event.data) ?? {}
    if (bonded === PROTOCOL && MESSAGES.includes(type)) hear(type as FrameMessage)
  }
  addEventListener('message', onMessage, bare({ signal }))
  return {
    node,
    start: (members) =>
      node.contentWindow?.postMessage({ ...members, bonded: PROTOCOL, type: 'start' }, origin),
  }
}
