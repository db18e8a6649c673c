import { createPhone, createWebAuthnSigner } from '@bonded/phone'
import { startApp, type App } from './app.ts'
import { createDeviceStore } from './device-store.ts'
import { handoffIn } from './link.ts'
import { en } from './messages.ts'
import { createMotionRecorder } from './motion.ts'
import { createView } from './view/view.ts'

/** The longest a poll is held, and a little: a request without an answer must end. */
const FETCH_TIMEOUT_MS = 40_000

const root = document.querySelector('main')
if (root !== null) main(root)

function main(root: HTMLElement): void {
  let app: App | undefined
  const motion = createMotionRecorder(window)
  const view = createView(root, {
    messages: en,
    onChoice: (choice) => app?.choose(choice),
    motionAccess: motion.access,
  })
  const handoff = handoffIn(location)
  if (handoff === undefined)
    return view.show({ name: 'problem', problem: 'link_incomplete', requestId: null })
  // A device with only a fine pointer is a computer. The page is for a phone that the user carries.
  if (!matchMedia('(any-pointer: coarse)').matches)
    return view.show({ name: 'desktop', link: location.href })
  if (typeof PublicKeyCredential === 'undefined')
    return view.show({ name: 'problem', problem: 'passkey_unsupported', requestId: null })

  const store = createDeviceStore(location.origin)
  const phone = createPhone({
    origin: location.origin,
    signer: createWebAuthnSigner({
      credentials: navigator.credentials,
      rpId: location.hostname,
      rpName: location.hostname,
      keyName: en.pageTitle,
      random: (length) => crypto.getRandomValues(new Uint8Array(length)),
    }),
    store,
    sha256: async (bytes) =>
      new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)),
    fetch: (url, { signal: _signal, ...request }) =>
      fetch(url, { ...request, signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) }),
    clock: {
      now: () => performance.now(),
      schedule(delayMs, act) {
        const timer = setTimeout(act, delayMs)
        return () => clearTimeout(timer)
      },
    },
    WebSocket,
  })
  const appScheme = document.querySelector<HTMLMetaElement>('meta[name=bonded-app-scheme]')?.content
  app = startApp({
    phone,
    store,
    motion,
    handoff,
    appLink: appScheme === undefined ? null : `${appScheme}://bond${location.search}`,
    show: (screen) => view.show(screen),
  })
}
