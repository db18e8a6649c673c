import { type PhoneDevice, type PhoneStore, Secret } from '@bonded/phone'

const DATABASE = 'bonded-phone'
const TABLE = 'devices'

/** A device as IndexedDB stores it: structured clone knows no `Secret`. */
type StoredDevice = Omit<PhoneDevice, 'device_token'> & { readonly device_token: string }

/**
 * The page's memory of its device. It survives a restart of the browser; the key itself is in the
 * authenticator.
 */
export interface DeviceStore extends PhoneStore {
  /** Deletes the device, so that the phone registers again. */
  forget(): Promise<void>
}

/**
 * Stores the device of one origin in IndexedDB.
 *
 * @throws {DOMException} where the browser permits no storage, as some private windows do
 */
export function createDeviceStore(origin: string): DeviceStore {
  return {
    async device() {
      const stored = await inTable<StoredDevice | undefined>('readonly', (table) =>
        table.get(origin),
      )
      remember(stored !== undefined)
      return stored && { ...stored, device_token: new Secret(stored.device_token) }
    },
    async keep(device) {
      const stored: StoredDevice = { ...device, device_token: device.device_token.reveal() }
      await inTable('readwrite', (table) => table.put(stored, origin))
      remember(true)
    },
    nextCounter() {
      // WebAuthn authenticators count by themselves.
      return Promise.reject(new TypeError('a WebAuthn key has no counter of the page'))
    },
    async forget() {
      await inTable('readwrite', (table) => table.delete(origin))
      remember(false)
    },
  }
}

/** Tells the document's script, which cannot wait for the database, whether the phone is set up. */
function remember(hasDevice: boolean): void {
  localStorage.setItem('bonded-device', String(hasDevice))
}

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
