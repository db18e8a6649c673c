import { type PhoneDevice, PhoneError, type PhoneStore, Secret } from '@bonded/phone'
import type { KeyIdStore } from '../signers/app-attest.ts'

/** The platform's encrypted store, by name. A value is durable when `set` resolves. */
export interface SecureItems {
  get(name: string): Promise<string | null>
  set(name: string, value: string): Promise<void>
  delete(name: string): Promise<void>
}

/** The storage of the app: its device, its counter, and the id of its App Attest key. */
export interface DeviceStore extends PhoneStore, KeyIdStore {
  /** Deletes everything, so that the phone registers again with a new key. */
  forget(): Promise<void>
}

type StoredDevice = Omit<PhoneDevice, 'device_token'> & { readonly device_token: string }

const NAMES = { device: 'bonded.device', counter: 'bonded.counter', keyId: 'bonded.key-id' }

/**
 * Stores the device of one origin. A device of another origin, from an earlier build of the app, is
 * ignored.
 */
export function createDeviceStore(items: SecureItems, origin: string): DeviceStore {
  let last: Promise<unknown> = Promise.resolve()
  /** Reads and writes of the counter must not interleave. */
  const inTurn = <T>(act: () => Promise<T>): Promise<T> => {
    const turn = last.then(act, act)
    last = turn.catch(() => {})
    return turn
  }
  return {
    async device() {
      const text = await items.get(NAMES.device)
      if (text === null) return undefined
      const stored = JSON.parse(text) as StoredDevice
      if (stored.origin !== origin) return undefined
      return { ...stored, device_token: new Secret(stored.device_token) }
    },
    async keep(device) {
      const stored: StoredDevice = { ...device, device_token: device.device_token.reveal() }
      await items.set(NAMES.device, JSON.stringify(stored))
    },
    nextCounter: () =>
      inTurn(async () => {
        const text = (await items.get(NAMES.counter)) ?? '0'
        // A number used twice makes the service suspect a copied key, so no value is guessed.
        if (!/^(0|[1-9]\d{0,9})$/.test(text))
          throw new PhoneError('authenticator_unusable', { reason: 'key_missing' })
        const next = Number(text) + 1
        await items.set(NAMES.counter, String(next))
        return next
      }),
    keyId: async () => (await items.get(NAMES.keyId)) ?? undefined,
    keepKeyId: (keyId) => items.set(NAMES.keyId, keyId),
    async forget() {
      // The device first: without it, the app starts with the setup, whatever else is left.
      for (const name of [NAMES.device, NAMES.keyId, NAMES.counter]) await items.delete(name)
    },
  }
}
