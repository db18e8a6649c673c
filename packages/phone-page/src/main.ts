import {
  CHALLENGE_DEVICE,
  decodeBase64url,
  type Handoff,
  READ_INVITATION,
  requestPath,
} from '@bonded/contract'
import {
  createPhone,
  createWebAuthnSigner,
  type Phone,
  PhoneError,
  type PhoneStore,
  type WebAuthnSigner,
} from '@bonded/phone'
import { startApp, type App } from './app.ts'
import { createDeviceStore } from './device-store.ts'
import { createEvidenceAhead } from './evidence-ahead.ts'
import { handoffIn } from './link.ts'
import { chooseLanguage, type Language, loadLanguage } from './messages/language.ts'
import { createMotionRecorder } from './motion.ts'
import { type ProblemKind, problemOf } from './problem.ts'
import { createRecovery } from './recovery.ts'
import { createRequestsAhead } from './requests-ahead.ts'
import type { ProblemScreen } from './screen.ts'
import { canAttest, observeSigner } from './passkey.ts'
import { createTabMemory } from './tab.ts'
import { createTapGuard, watchAttention } from './tap-guard.ts'
import { createView } from './view/view.ts'

/** The longest a poll is held, and a little: a request without a response must end. */
const FETCH_TIMEOUT_MS = 40_000

const network = createRequestsAhead((url, request) =>
  fetch(url, { ...request, signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) }),
)

// In a browser that is too old, the document's own script shows a sentence instead.
const root = document.querySelector<HTMLElement>('main:not([data-too-old])')
if (root !== null)
  void loadLanguage(chooseLanguage(navigator.languages)).then((language) => main(root, language))

function main(root: HTMLElement, { tag, dir, messages }: Language): void {
  document.documentElement.lang = tag
  document.documentElement.dir = dir
  let app: App | undefined
  const motion = createMotionRecorder(window)
  const guard = createTapGuard({
    now: () => performance.now(),
    schedule: (delayMs, act) => setTimeout(act, delayMs),
  })
  watchAttention(window, guard)
  const view = createView(root, {
    messages,
    languages: [tag, ...navigator.languages],
    onChoice: (choice) => app?.choose(choice),
    onRemove: (removal) => app?.remove(removal),
    motion,
    guard,
    read: new Set(),
  })
  const handoff = handoffIn(location)
  // Without any request, the page lists the user's phones.
  if (handoff === undefined && location.search !== '') return view.show(problem('link_incomplete'))
  // A device with only a fine pointer is a computer. The page is for a phone that the user carries.
  if (!matchMedia('(any-pointer: coarse)').matches)
    return view.show({ name: 'desktop', link: location.href })
  if (typeof PublicKeyCredential === 'undefined') return view.show(problem('open_in_browser'))

  const store = createDeviceStore(location.origin)
  const signer = createWebAuthnSigner({
    credentials: navigator.credentials,
    rpId: location.hostname,
    signalUnknownCredential: PublicKeyCredential.signalUnknownCredential?.bind(PublicKeyCredential),
    rpName: location.hostname,
    // A user may have several, of other browsers or of earlier times.
    keyName: `${messages['page.title']} · ${new Date().toLocaleDateString(tag, { dateStyle: 'medium' })}`,
    random: (length) => crypto.getRandomValues(new Uint8Array(length)),
  })
  const observed = observeSigner(signer, {
    beforeSigning: async () => app?.beforeSigning(),
    onSigned: (key) => app?.onSigned(key),
  })
  const phoneOn = (storage: PhoneStore) => createBrowserPhone(observed, storage)
  const phone = phoneOn(store)
  const { bondedInvitation } = window as { bondedInvitation?: Promise<Response> }
  if (handoff !== undefined && bondedInvitation !== undefined)
    network.expect(urlOf(requestPath(READ_INVITATION, handoff)), bondedInvitation)
  app = startApp({
    phone,
    discard: (key) => signer.discard(key),
    phoneWithNewKey: phoneOn({ ...store, device: () => Promise.resolve(undefined) }),
    store,
    motion,
    evidence: createEvidenceAhead({ phone, motion, page: window }),
    challengeAhead,
    tab: createTabMemory(window),
    recovery: createRecovery({
      // The list is read again when the user asks for it.
      probe: async () => handoff !== undefined && responds(phone, handoff),
      schedule,
      random: Math.random,
    }),
    handoff,
    origin: location.origin,
    link: location.href,
    appLink: appLinkOf(location),
    canAttest: canAttest(navigator),
    show: (screen) => view.show(screen),
    close: () => window.close(),
    alone: (act) => navigator.locks.request('bonded-phone', act),
  })
  for (const type of ['online', 'focus', 'pageshow'])
    window.addEventListener(type, () => app?.reconnect())
}

/** A phone on the browser's network and clock. */
function createBrowserPhone(signer: WebAuthnSigner, store: PhoneStore): Phone {
  return createPhone({
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
  })
}

/** Requests the challenge of a key while the user reads what the key is for. */
function challengeAhead(): void {
  // Previews of a link are drawn where no user looks.
  if (document.visibilityState !== 'visible') return
  const url = urlOf(requestPath(CHALLENGE_DEVICE, {}))
  const headers = { accept: 'application/json', 'content-type': 'application/json' }
  network.expect(
    url,
    network.fetch(url, { method: 'POST', headers, body: '{}', redirect: 'error' }),
  )
}

function urlOf(path: string): string {
  return location.origin + path
}

function bytesOf(challenge: string): Uint8Array {
  const bytes = decodeBase64url(challenge)
  if (bytes === undefined) throw new PhoneError('answer_unreadable', { reason: 'challenge' })
  return bytes
}

function schedule(delayMs: number, act: () => void): () => void {
  const timer = setTimeout(act, delayMs)
  return () => clearTimeout(timer)
}

/** Whether the service responds at all. A rejection of this session is a response. */
function responds(phone: Phone, handoff: Handoff): Promise<boolean> {
  return phone.readInvitation(handoff).then(
    () => true,
    (failure: unknown) => !['offline', 'busy'].includes(problemOf(failure)),
  )
}

function appLinkOf({ search }: Location): string | null {
  const scheme = document.querySelector<HTMLMetaElement>('meta[name=bonded-app-scheme]')?.content
  return scheme === undefined ? null : `${scheme}://bond${search}`
}

function problem(problem: ProblemKind): ProblemScreen {
  return {
    name: 'problem',
    problem,
    need: null,
    requestId: null,
    link: location.href,
    appLink: appLinkOf(location),
  }
}
