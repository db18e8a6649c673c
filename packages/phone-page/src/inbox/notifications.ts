/** The address of the service worker. The policy of the page names it too. */
const WORKER_PATH = '/inbox/worker.js'
const SCOPE = { scope: '/inbox' }

/** The notifications of this browser. */
export interface Notifications {
  /**
   * Asks the user for permission, and subscribes at the push service of the browser.
   *
   * @returns the endpoint; undefined if the user or the browser permits no notification
   * @throws where the push service refuses, or cannot be reached
   */
  subscribe(publicKey: string): Promise<string | undefined>
  unsubscribe(): Promise<void>
}

/**
 * Undefined where the browser has no push service, and on iPhones: only a page on the home screen
 * has one there, with a storage of its own, which has no key.
 */
export function browserNotifications(): Notifications | undefined {
  const has = 'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window
  if (!has || isApplePhone(navigator)) return undefined
  return {
    async subscribe(publicKey) {
      if ((await Notification.requestPermission()) !== 'granted') return undefined
      const registration = await navigator.serviceWorker.register(workerUrl(), SCOPE)
      await navigator.serviceWorker.ready
      // One of another key cannot be replaced, and one that has ended is not valid.
      await (await registration.pushManager.getSubscription())?.unsubscribe()
      const { endpoint } = await registration.pushManager.subscribe({
        userVisibleOnly: true,
        applicationServerKey: publicKey,
      })
      return endpoint
    },
    async unsubscribe() {
      // It ends the subscription too.
      await (await navigator.serviceWorker.getRegistration(SCOPE.scope))?.unregister()
    },
  }
}

/** An iPad can say that it is a Mac, which has no touch screen. */
export function isApplePhone({
  userAgent,
  maxTouchPoints,
}: Pick<Navigator, 'userAgent' | 'maxTouchPoints'>): boolean {
  return /iPhone|iPad|iPod/.test(userAgent) || (/Macintosh/.test(userAgent) && maxTouchPoints > 1)
}

/** Returns the constant as the page's one trusted URL of a script. */
function workerUrl(): string {
  const { trustedTypes } = globalThis as unknown as {
    trustedTypes?: {
      createPolicy(
        name: string,
        rules: { createScriptURL: () => string },
      ): { createScriptURL(text: string): string }
    }
  }
  workerPolicy ??= trustedTypes?.createPolicy('inbox-worker', {
    createScriptURL: () => WORKER_PATH,
  })
  return workerPolicy?.createScriptURL('') ?? WORKER_PATH
}

/** A page may create a policy of one name once. */
let workerPolicy: { createScriptURL(text: string): string } | undefined
