import { CHALLENGE_DEVICE, type Handoff, READ_INVITATION, requestPath } from '@bonded/contract'
import { createPhone, type Phone, type PhoneStore } from '@bonded/phone'
import { startApp, type App } from './app.ts'
import { createDeviceStore } from './device-store.ts'
import { createEvidenceAhead } from './evidence-ahead.ts'
import { handoffIn } from './link.ts'
import { en } from './messages/en.ts'
import { type Language, loadLanguage } from './messages/language.ts'
import {
  browserOptions,
  createBrowserSigner,
  network,
  obstacle,
  onReturn,
  problemScreen,
  root,
  schedule,
  startDrawing,
} from './page.ts'
import { canAttest, observeSigner } from './passkey.ts'
import { problemOf } from './problem.ts'
import { createRecovery } from './recovery.ts'
import type { PageScreen } from './screen.ts'
import { createTabMemory } from './tab.ts'
import { drawPage } from './view/draw-page.ts'
import { createView } from './view/view.ts'

if (root !== null) void loadLanguage(en).then((language) => main(root!, language))

function main(root: HTMLElement, language: Language): void {
  let app: App | undefined
  const drawing = startDrawing(language)
  const { motion } = drawing
  const context = {
    ...drawing,
    onChoice: (choice) => app?.choose(choice),
    onRemove: (removal) => app?.remove(removal),
  } satisfies Parameters<typeof drawPage>[1]
  const view = createView(root, (screen: PageScreen) => drawPage(screen, context), drawing.guard)
  const handoff = handoffIn(location)
  const appLink = appLinkOf(location)
  // Without any request, the page lists the user's phones.
  if (handoff === undefined && location.search !== '')
    return view.show(problemScreen('link_incomplete', appLink))
  const stop = obstacle(appLink)
  if (stop !== undefined) return view.show(stop)

  const store = createDeviceStore(location.origin)
  const signer = createBrowserSigner(language)
  const observed = observeSigner(signer, {
    beforeSigning: async () => app?.beforeSigning(),
    onSigned: (key) => app?.onSigned(key),
  })
  const phoneOn = (storage: PhoneStore) => createPhone(browserOptions(observed, storage))
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
    appLink,
    canAttest: canAttest(navigator),
    // This page shows no screen of the inbox.
    show: (screen) => view.show(screen as PageScreen),
    close: () => window.close(),
    alone: (act) => navigator.locks.request('bonded-phone', act),
  })
  onReturn(() => app?.reconnect())
}

/** Requests the challenge of a key while the user reads what the key is for. */
function challengeAhead(): void {
  // Previews of a link are drawn where no user looks.
  if (document.visibilityState !== 'visible') return
  const url = urlOf(requestPath(CHALLENGE_DEVICE, {}))
  const headers = { accept: 'application/json', 'content-type': 'application/json' }
  const request = { method: 'POST', headers, body: '{}', redirect: 'error' } as const
  network.expect(url, network.fetch(url, request))
}

function urlOf(path: string): string {
  return location.origin + path
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
