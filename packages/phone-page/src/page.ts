import { decodeBase64url } from '@bonded/contract'
import {
  createWebAuthnSigner,
  PhoneError,
  type PhoneOptions,
  type PhoneStore,
  type WebAuthnSigner,
} from '@bonded/phone'
import type { Language } from './messages/language.ts'
import { createMotionRecorder, type MotionRecorder } from './motion.ts'
import type { ProblemKind } from './failures.ts'
import { createRequestsAhead } from './requests-ahead.ts'
import type { PageScreen, ProblemScreen } from './screen.ts'
import { createTapGuard, watchAttention } from './tap-guard.ts'
import type { DrawingContext } from './view/parts.ts'

/** The longest a poll is held, and a little: a request without a response must end. */
const FETCH_TIMEOUT_MS = 40_000

export const network = createRequestsAhead((url, request) =>
  fetch(url, { ...request, signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) }),
)

// In a browser that is too old, the document's own script shows a sentence instead.
export const root = document.querySelector<HTMLElement>('main:not([data-too-old])')

export function schedule(delayMs: number, act: () => void): () => void {
  const timer = setTimeout(act, delayMs)
  return () => clearTimeout(timer)
}

/** What every page draws with: its language, the motion sensors, and a guard against early taps. */
export function startDrawing({
  tag,
  dir,
  messages,
}: Language): Omit<DrawingContext, 'onChoice' | 'onRemove'> & { readonly motion: MotionRecorder } {
  document.documentElement.lang = tag
  document.documentElement.dir = dir
  const guard = createTapGuard({ now: () => performance.now(), schedule })
  watchAttention(window, guard)
  return {
    messages,
    languages: [tag, ...navigator.languages],
    motion: createMotionRecorder(window),
    guard,
    read: new Set(),
  }
}

/** What a browser that cannot approve shows; undefined in any other. */
export function obstacle(appLink: string | null): PageScreen | undefined {
  // A device with only a fine pointer is a computer. The page is for a phone that the user carries.
  if (!matchMedia('(any-pointer: coarse)').matches) return { name: 'desktop', link: location.href }
  // A browser inside another app can have the class of passkeys, and not their prompts.
  if (!window.PublicKeyCredential || !navigator.credentials)
    return problemScreen('open_in_browser', appLink)
  // It is missing at every attempt. No session is claimed yet, so another browser can go on.
  if (!window.indexedDB) return problemScreen('storage_missing', appLink)
}

export function problemScreen(problem: ProblemKind, appLink: string | null): ProblemScreen {
  const link = location.href
  return { name: 'problem', problem, need: null, requestId: null, link, appLink }
}

/** The browser's passkeys. The user sees the title and the day where the browser lists them. */
export function createBrowserSigner({ tag, messages }: Language): WebAuthnSigner {
  return createWebAuthnSigner({
    credentials: navigator.credentials,
    rpId: location.hostname,
    signalUnknownCredential: PublicKeyCredential.signalUnknownCredential?.bind(PublicKeyCredential),
    rpName: location.hostname,
    // A user may have several, of other browsers or of earlier times.
    keyName: `${messages['page.title']} · ${new Date().toLocaleDateString(tag, { dateStyle: 'medium' })}`,
    random: (length) => crypto.getRandomValues(new Uint8Array(length)),
  })
}

/** The options of a phone on the browser's network and clock. */
export function browserOptions(signer: WebAuthnSigner, store: PhoneStore): PhoneOptions {
  return {
    origin: location.origin,
    signer,
    store,
    sha256: async (bytes) =>
      new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)),
    fetch: (url, { signal: _signal, ...request }) => network.fetch(url, request),
    clock: { now: () => performance.now(), schedule },
    WebSocket,
    isolatesValues: true,
    showsText: true,
    // An attested passkey of Android is not discoverable, so a computer cannot ask for it.
    createBrowserKey: ({ challenge, rp_id }) =>
      signer.register(bytesOf(challenge), { rp_id, attestation: 'none' }),
  }
}

function bytesOf(challenge: string): Uint8Array {
  const bytes = decodeBase64url(challenge)
  if (bytes === undefined) throw new PhoneError('answer_unreadable', { reason: 'challenge' })
  return bytes
}

/** Calls it when the browser is connected again, or the user is back at the page. */
export function onReturn(act: () => void): void {
  for (const type of ['online', 'focus', 'pageshow']) window.addEventListener(type, act)
}
