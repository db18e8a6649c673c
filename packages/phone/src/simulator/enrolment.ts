import type { PhoneStore, Signer } from '../ports.ts'
import { Secret } from '../secret.ts'
import { makeKey, signerOf } from './software-key.ts'
import type { Enrolment, StateKeeper } from './state-file.ts'

/** The key and the memory of one origin. */
export interface Enrolled {
  readonly signer: Signer
  readonly store: PhoneStore
  /** Forgets device and key: for a service that knows them no more. The next registration makes new ones. */
  forget(): Promise<void>
}

/** The part of the phone's memory that belongs to an origin. */
export function enrolmentAt(state: StateKeeper, origin: string): Enrolled {
  const change = async (next: (now: Enrolment) => Enrolment): Promise<Enrolment> => {
    const changed = await state.change((all) => ({ ...all, [origin]: next(all[origin] ?? { private_key: makeKey(), counter: 0 }) }))
    const enrolment = changed[origin]
    if (enrolment === undefined) throw new Error('the state keeper lost what it was given')
    return enrolment
  }
  const known = async () => (await state.read())[origin] ?? (await change((now) => now))
  return {
    signer: signerOf(async () => (await known()).private_key),
    store: {
      async device() {
        const { device } = await known()
        return device && { ...device, origin, format: 'software', device_token: new Secret(device.device_token) }
      },
      async keep({ device_id, subject_id, key_id, device_token }) {
        await change((now) => ({ ...now, device: { device_id, subject_id, key_id, device_token: device_token.reveal() } }))
      },
      nextCounter: async () => (await change((now) => ({ ...now, counter: now.counter + 1 }))).counter,
    },
    async forget() {
      await state.change((all) => ({ ...all, [origin]: { private_key: makeKey(), counter: 0 } }))
    },
  }
}
