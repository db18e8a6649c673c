import { COUNT_INBOX, requestPath } from '@bonded/contract'
import { createInbox, createPhone } from '@bonded/phone'
import { createDeviceStore } from '../device-store.ts'
import { createEvidenceAhead } from '../evidence-ahead.ts'
import { type Language, loadLanguage } from '../messages/language.ts'
import {
  browserOptions,
  createBrowserSigner,
  network,
  obstacle,
  onReturn,
  root,
  schedule,
  startDrawing,
} from '../page.ts'
import { observeSigner } from '../passkey.ts'
import { createRecovery } from '../recovery.ts'
import type { Screen } from '../screen.ts'
import { createView } from '../view/view.ts'
import { browserNotifications } from './notifications.ts'
import { type InboxApp, startInbox } from './app.ts'
import { drawInbox, type InboxContext } from './draw.ts'
import { inboxEn, inboxMessages, type InboxMessages } from './messages.ts'

if (root !== null)
  void loadLanguage(inboxEn, 'inbox-').then((language) =>
    main(root!, { ...language, messages: inboxMessages(language.messages) }),
  )

function main(root: HTMLElement, language: Language<InboxMessages>): void {
  let app: InboxApp | undefined
  const drawing = startDrawing(language)
  const { motion } = drawing
  const notifications = browserNotifications()
  const context: InboxContext = {
    ...drawing,
    messages: language.messages,
    onChoice: (choice) => app?.choose(choice),
    // The inbox lists no phones.
    onRemove: () => {},
    isInbox: true,
    actions: {
      open: () => app?.open(),
      more: () => app?.more(),
      select: (item) => app?.select(item),
      decline: (note) => app?.decline(note),
      resume: (pause) => app?.resume(pause),
      notify: notifications && ((push) => app?.notify?.(push)),
    },
  }
  const view = createView(root, (screen: Screen) => drawInbox(screen, context), drawing.guard)
  const stop = obstacle(null)
  if (stop !== undefined) return view.show(stop)

  const store = createDeviceStore(location.origin)
  const signer = observeSigner(createBrowserSigner(language), {
    beforeSigning: async () => app?.beforeSigning(),
    onSigned: (key) => app?.onSigned(key),
  })
  const options = browserOptions(signer, store)
  // Requests of a quorum come from no page, so only the inbox has the words for their rule.
  const phone = createPhone({ ...options, showsQuorum: true })
  const recovery = createRecovery({
    // Any answer shows that the service is back, and a rejection without a token costs it least.
    probe: () =>
      network.fetch(requestPath(COUNT_INBOX, {}), { redirect: 'error' }).then(
        ({ status }) => status < 500,
        () => false,
      ),
    schedule,
    random: Math.random,
  })
  app = startInbox({
    phone,
    inbox: createInbox(options),
    store,
    motion,
    notifications,
    createEvidence: () => createEvidenceAhead({ phone, motion, page: window }),
    recovery,
    link: location.href,
    appLink: null,
    show: (screen) => view.show(screen),
    isVisible: () => document.visibilityState === 'visible',
    schedule,
    showPhones: () => location.assign('/bond'),
  })
  onReturn(() => recovery.hurry())
}
