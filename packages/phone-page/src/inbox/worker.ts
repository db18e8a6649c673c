import { matchLanguage } from '@bonded/contract'
import words from '../../wake-words.json' with { type: 'json' }

/*
 * The service worker of the inbox. It shows one sentence, and opens the inbox. It reads no token,
 * and its response permits it no request.
 */

const INBOX_PATH = '/inbox'

interface InboxWindow {
  readonly url: string
  readonly visibilityState: string
  focus(): Promise<unknown>
}

interface WorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void
  readonly notification: { close(): void }
}

/** What the worker uses of its scope, which the types of a page do not have. */
const worker = globalThis as unknown as {
  addEventListener(type: string, listener: (event: WorkerEvent) => void): void
  readonly clients: {
    matchAll(of: { type: 'window'; includeUncontrolled: true }): Promise<readonly InboxWindow[]>
    openWindow(url: string): Promise<unknown>
  }
  readonly registration: ServiceWorkerRegistration
}

/** A message has no content, so there is nothing to read. */
worker.addEventListener('push', (event) => event.waitUntil(wake()))
worker.addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(open())
})

async function wake(): Promise<void> {
  const windows = await inboxWindows()
  // A visible inbox shows the request by itself.
  if (windows.some(({ visibilityState }) => visibilityState === 'visible')) return
  const tag = matchLanguage(navigator.languages, Object.keys(words)) ?? 'en'
  await worker.registration.showNotification(words[tag as keyof typeof words], { tag: 'inbox' })
}

async function open(): Promise<void> {
  const [known] = await inboxWindows()
  await (known?.focus() ?? worker.clients.openWindow(INBOX_PATH))
}

async function inboxWindows(): Promise<readonly InboxWindow[]> {
  const all = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true })
  return all.filter(({ url }) => new URL(url).pathname === INBOX_PATH)
}
