import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { PhoneDevice } from '@bonded/phone'

/** The state of the simulated phone for one origin. */
export interface StoredEnrollment {
  /** The format of the key. Default: `software`. */
  readonly format?: Exclude<PhoneDevice['format'], 'webauthn'>
  /** PKCS #8 in base64url. */
  readonly private_key: string
  /** The last counter that was used; 0 before the first. */
  readonly counter: number
  readonly device?: Omit<PhoneDevice, 'origin' | 'device_token' | 'format'> & {
    readonly device_token: string
  }
}

/** The state of the phone, by origin. */
export type PhoneState = Readonly<Record<string, StoredEnrollment>>

/** Stores the state. Changes run one at a time, and are durable when they resolve. */
export interface StateStore {
  read(): Promise<PhoneState>
  change(next: (state: PhoneState) => PhoneState): Promise<PhoneState>
}

/** A store that exists only in this process. */
export function memoryStateStore(): StateStore {
  let state: PhoneState = {}
  return {
    read: async () => state,
    change: async (next) => (state = next(state)),
  }
}

/** A lock older than this belongs to a process that has died. */
const STALE_LOCK_MS = 5_000
const LOCK_RETRY_MS = 5

/**
 * A store in a JSON file of mode 0600 that is replaced atomically. A lock file prevents two
 * processes, such as the phone of `bonded dev` and one on the command line, from using the same
 * counter.
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
