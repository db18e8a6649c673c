import { parseId, PUBLISHABLE_KEY, type SessionId, WATCH_TOKEN } from '@bonded/contract'

/** Every message between a page and the frame has this as its member `bonded`. */
export const FRAME_PROTOCOL = 'frame/v1'

const COMMITMENT = /^[0-9A-Za-z_-]{43}$/
const PAGE_ORIGIN = /^https?:\/\/[^/\s]{1,260}$/
const COLOR = /^#[\da-f]{6}$/i
const MAX_TAG_LENGTH = 64

/** What a page gives to the frame. It never gives a challenge, an option, or a payload to sign. */
export interface Start {
  /** The page, as the browser reports it. */
  readonly parentOrigin: string
  readonly sessionId: SessionId
  readonly watchToken: string
  readonly publishableKey: string
  readonly commitment: string
  /** The language of the page; null for the user's. */
  readonly language: string | null
  /** The color scheme of the page; null for the user's. */
  readonly theme: 'light' | 'dark' | null
  /** The accent color of the page's widget, as `#rrggbb`; null for the service's. */
  readonly accent: string | null
}

/** The part of a `Window` that says where the document is. */
export interface Place {
  readonly self: unknown
  readonly parent: unknown
  readonly top: unknown
}

/**
 * Whether the document is directly in the page that the user visits. Popups ignore
 * `frame-ancestors`, and deeper in other frames the user does not see who asks.
 */
export function isPlaced({ self, parent, top }: Place): boolean {
  return parent !== self && parent === top
}

/**
 * Whether the page lets its frame use passkeys, by the frame's `allow` and its own
 * `Permissions-Policy`. Only Chromium tells; the prompts of other browsers then fail.
 */
export function isPermitted(document: object): boolean {
  const { featurePolicy } = document as {
    readonly featurePolicy?: { allowsFeature?(name: string): boolean }
  }
  return featurePolicy?.allowsFeature?.('publickey-credentials-get') !== false
}

/** Reads the message that starts the frame. Undefined for any other, and from any other window. */
export function readStart(
  { source, origin, data }: Pick<MessageEvent<unknown>, 'source' | 'origin' | 'data'>,
  parent: unknown,
): Start | undefined {
  if (source === null || source !== parent || !PAGE_ORIGIN.test(origin)) return undefined
  if (typeof data !== 'object' || data === null) return undefined
  const given = new Map<string, unknown>(Object.entries(data))
  if (given.get('bonded') !== FRAME_PROTOCOL || given.get('type') !== 'start') return undefined
  const text = (name: string): string => {
    const value = given.get(name)
    return typeof value === 'string' ? value : ''
  }
  const sessionId = parseId('sess', text('session_id'))
  const watchToken = text('watch_token')
  const publishableKey = text('publishable_key')
  const commitment = text('commitment')
  const language = text('language').slice(0, MAX_TAG_LENGTH) || null
  const wanted = text('theme')
  const theme = wanted === 'light' || wanted === 'dark' ? wanted : null
  const color = text('accent')
  const accent = COLOR.test(color) ? color : null
  const isWhole =
    WATCH_TOKEN.test(watchToken) &&
    PUBLISHABLE_KEY.test(publishableKey) &&
    COMMITMENT.test(commitment)
  return sessionId !== undefined && isWhole
    ? {
        parentOrigin: origin,
        sessionId,
        watchToken,
        publishableKey,
        commitment,
        language,
        theme,
        accent,
      }
    : undefined
}
