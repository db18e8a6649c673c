import { type PhoneDevice, type PhoneStore, Secret } from '@bonded/phone'

const DATABASE = 'bonded-phone'
const TABLE = 'devices'

/** A device as IndexedDB stores it: structured clone knows no `Secret`. */
type StoredDevice = Omit<PhoneDevice, 'device_token'> & { readonly device_token: string }

/** The browser does not let the page read what it has stored, also at a second attempt. */
export class StorageFailure extends Error {}

/**
 * The page's memory of its device. It survives a restart of the browser; the key itself is in the
 * authenticator. What cannot be written is kept for this visit, and written at the next read.
 */
export interface DeviceStore extends PhoneStore {
  /** Deletes the device, so that the phone registers again. */
  forget(): Promise<void>
  /** Whether the browser has stored what was kept last. */
  isStored(): boolean
}

/**
 * Stores the device of one origin in IndexedDB.
 *
 * @throws {StorageFailure} from `device()`, where this visit has not read or kept one before
 */
export function createDeviceStore(origin: string): DeviceStore {
  let known: PhoneDevice | undefined
  let isStored = true

  const keep = async (device?: PhoneDevice) => {
    known = device
    const write = (table: IDBObjectStore) =>
      device === undefined
        ? table.delete(origin)
        : table.put({ ...device, device_token: device.device_token.reveal() }, origin)
    isStored = await twice(() => inTable('readwrite', write)).then(
      () => true,
      () => false,
    )
    remember(device !== undefined)
  }
  return {
    async device() {
      if (!isStored) await keep(known)
      if (!isStored) return known
      try {
        const read = () =>
          inTable<StoredDevice | undefined>('readonly', (table) => table.get(origin))
        const stored = await twice(read)
        known = stored && { ...stored, device_token: new Secret(stored.device_token) }
      } catch (cause) {
        if (known === undefined) throw new StorageFailure('read', { cause })
      }
      remember(known !== undefined)
      return known
    },
    keep,
    nextCounter() {
      // WebAuthn authenticators count by themselves.
      return Promise.reject(new TypeError('a WebAuthn key has no counter of the page'))
    },
    forget: () => keep(),
    isStored: () => isStored,
  }
}

/** Tells the document's script, which cannot wait for the database, whether the phone is set up. */
function remember(hasDevice: boolean): void {
  try {
    localStorage.setItem('bonded-device', String(hasDevice))
  } catch {
    // Without the hint, the document requests an invitation that the page does not need.
  }
}

/** Browsers lose their connection to the database, so a failed attempt is made again. */
const twice = <T>(act: () => Promise<T>) => act().catch(act)

async function inTable<T>(
  mode: IDBTransactionMode,
  use: (table: IDBObjectStore) => IDBRequest,
): Promise<T> {
  const database = await open()
  try {
    const transaction = database.transaction(TABLE, mode, { durability: 'strict' })
    const request = use(transaction.objectStore(TABLE))
    await new Promise<void>((resolve, reject) => {
      transaction.addEventListener('complete', () => resolve())
      transaction.addEventListener('abort', () => reject(failureOf(transaction.error)))
    })
    return request.result as T
  } finally {
    database.close()
  }
}

function open(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1)
  request.addEventListener('upgradeneeded', () => request.result.createObjectStore(TABLE))
  return new Promise((resolve, reject) => {
    request.addEventListener('success', () => resolve(request.result))
    request.addEventListener('error', () => reject(failureOf(request.error)))
    request.addEventListener('blocked', () => reject(new Error('the database is blocked')))
  })
}

function failureOf(error: DOMException | null): Error {
  return error ?? new Error('the database failed')
}
