import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { PhoneDevice } from '@bonded/phone'

/** What one origin knows of the simulated phone. */
export interface StoredEnrollment {
  /** What the key is registered as; `software` where it is not said. */
  readonly format?: Exclude<PhoneDevice['format'], 'webauthn'>
  /** PKCS #8 in base64url. */
  readonly private_key: string
  /** The last counter given out; 0 before the first. */
  readonly counter: number
  readonly device?: Omit<PhoneDevice, 'origin' | 'device_token' | 'format'> & {
    readonly device_token: string
  }
}

/** The phone's memory, by origin. */
export type PhoneState = Readonly<Record<string, StoredEnrollment>>

/** Where the memory lives. Changes come one after the other, and are durable when they resolve. */
export interface StateStore {
  read(): Promise<PhoneState>
  change(next: (state: PhoneState) => PhoneState): Promise<PhoneState>
}

/** A memory that ends with the process. */
export function memoryStateStore(): StateStore {
  let state: PhoneState = {}
  return {
    read: async () => state,
    change: async (next) => (state = next(state)),
  }
}

/** A process that died with the lock in its hands held it for less than this. */
const STALE_LOCK_MS = 5_000
const LOCK_RETRY_MS = 5

/**
 * A memory in a JSON file of mode 0600, replaced as a whole. A lock file keeps two processes (the
 * phone of `bonded dev` and one on the command line) from giving out the same counter.
 */
export function fileStateStore(path: string): StateStore {
  const read = async (): Promise<PhoneState> => {
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '{}'
      throw error
    })
    return JSON.parse(text) as PhoneState
  }
  return {
    read,
    change: (next) =>
      locked(`${path}.lock`, async () => {
        const state = next(await read())
        await replaceFile(path, `${JSON.stringify(state, null, 2)}\n`)
        return state
      }),
  }
}

async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    const file = await open(draft, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

async function locked<T>(lock: string, act: () => Promise<T>): Promise<T> {
  await mkdir(dirname(lock), { recursive: true, mode: 0o700 })
  while (!(await take(lock))) {
    const held = await stat(lock).catch(() => undefined)
    if (held !== undefined && Date.now() - held.mtimeMs > STALE_LOCK_MS)
      await rm(lock, { force: true })
    else await delay(LOCK_RETRY_MS)
  }
  try {
    return await act()
  } finally {
    await rm(lock, { force: true })
  }
}

async function take(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close()
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
