import type { Page } from 'playwright-core'

/** The calls that can fail: prompts, and reads and writes of the page's two storages. */
type FaultyCall = 'create' | 'get' | 'read' | 'write' | 'hint'

/** The names of the errors with which the next calls fail, one for each. */
export type Faults = Partial<Record<FaultyCall, readonly string[]>>

/** Runs in the page before its script. */
const INJECT = `
  globalThis.faults = {}
  const fail = (owner, method, call) => {
    const original = owner[method]
    owner[method] = function (...given) {
      const [name] = faults[call]?.splice(0, 1) ?? []
      if (name === undefined) return original.apply(this, given)
      const failure = new DOMException('injected', name)
      if (call === 'create' || call === 'get') return Promise.reject(failure)
      throw failure
    }
  }
  const prompts = Object.hasOwn(navigator, 'credentials')
    ? navigator.credentials
    : CredentialsContainer.prototype
  fail(prompts, 'create', 'create')
  fail(prompts, 'get', 'get')
  fail(IDBObjectStore.prototype, 'get', 'read')
  for (const method of ['put', 'delete']) fail(IDBObjectStore.prototype, method, 'write')
  for (const method of ['getItem', 'setItem']) fail(Storage.prototype, method, 'hint')
`

/** Prepares the next documents of the page, in which calls then fail from the start. */
export async function installFaults(page: Page, faults: Faults = {}): Promise<void> {
  await page.addInitScript(`${INJECT}; Object.assign(faults, ${JSON.stringify(faults)})`)
}

/** Makes the next calls of the shown document fail, and no others. */
export async function failNext(page: Page, faults: Faults): Promise<void> {
  await page.evaluate(`faults = ${JSON.stringify(faults)}`)
}

/** Waits until the calls that {@link failNext} named have failed. The page looks alike before. */
export async function failed(page: Page): Promise<void> {
  // The page's policy forbids the `eval` of `waitForFunction`.
  await page.evaluate(`new Promise((resolve) => {
    const look = () =>
      Object.values(faults).every((names) => names.length === 0) ? resolve() : setTimeout(look, 10)
    look()
  })`)
}

/** As often as a page may try. */
export const always = (name: string) => Array.from({ length: 99 }, () => name)
