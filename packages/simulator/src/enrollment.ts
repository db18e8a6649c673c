import type { KeyObject } from 'node:crypto'
import type { PhoneDevice } from '@bonded/phone'
import type { PhoneStore, Signer } from '@bonded/phone'
import { Secret } from '@bonded/phone'
import { androidSigner, appleSigner } from './platform-signer.ts'
import { createKey, readKey, softwareSigner } from './software-key.ts'
import type { StoredEnrollment, StateStore } from './state-file.ts'
import type { TestAuthority } from './test-authority.ts'

/** The key and the stored state for one origin. */
export interface Enrollment {
  readonly signer: Signer
  readonly store: PhoneStore
  /** Deletes the device and replaces its key, for a service that no longer knows them. */
  reset(): Promise<void>
}

type Format = Exclude<PhoneDevice['format'], 'webauthn'>

/** The format of a key, and the authority that attests it. */
export type KeyKind =
  | { readonly format: 'software' }
  | {
      readonly format: Exclude<Format, 'software'>
      readonly authority: () => TestAuthority
      /** When the authority certifies a key. */
      readonly now: () => number | Promise<number>
    }

/** Returns the format of the key that is stored for an origin. Undefined if there is none. */
export async function registeredFormat(
  state: StateStore,
  origin: string,
): Promise<Format | undefined> {
  const entry = (await state.read())[origin]
  return entry && formatOf(entry)
}

/** Opens the state for an origin. A stored key of another format is replaced. */
export function openEnrollment(
  state: StateStore,
  origin: string,
  kind: KeyKind = { format: 'software' },
): Enrollment {
  const { format } = kind
  const newEnrollment = (): StoredEnrollment => ({ format, private_key: createKey(), counter: 0 })
  const ofThisKind = (entry: StoredEnrollment | undefined) =>
    entry !== undefined && formatOf(entry) === format ? entry : undefined
  const change = async (
    next: (now: StoredEnrollment) => StoredEnrollment,
  ): Promise<StoredEnrollment> => {
    const changed = await state.change((all) => ({
      ...all,
      [origin]: next(ofThisKind(all[origin]) ?? newEnrollment()),
    }))
    const stored = changed[origin]
    if (stored === undefined)
      throw new Error('the state store did not return the changed enrollment')
    return stored
  }
  const known = async () => ofThisKind((await state.read())[origin]) ?? (await change((now) => now))
  const key = async () => readKey((await known()).private_key)
  return {
    signer: signerOf(kind, key),
    store: {
      async device() {
        const { device } = await known()
        return (
          device && { ...device, origin, format, device_token: new Secret(device.device_token) }
        )
      },
      async keep({ device_id, subject_id, key_id, device_token, token_renew_at }) {
        await change((now) => ({
          ...now,
          device: {
            device_id,
            subject_id,
            key_id,
            token_renew_at,
            device_token: device_token.reveal(),
          },
        }))
      },
      nextCounter: async () =>
        (await change((now) => ({ ...now, counter: now.counter + 1 }))).counter,
    },
    async reset() {
      await state.change((all) => ({ ...all, [origin]: newEnrollment() }))
    },
  }
}

function formatOf({ format = 'software' }: StoredEnrollment): Format {
  return format
}

function signerOf(kind: KeyKind, key: () => Promise<KeyObject>): Signer {
  switch (kind.format) {
    case 'software':
      return softwareSigner(key)
    case 'apple-app-attest':
      return appleSigner({ key, authority: kind.authority, now: kind.now })
    case 'android-key':
      return androidSigner({ key, authority: kind.authority })
  }
}
