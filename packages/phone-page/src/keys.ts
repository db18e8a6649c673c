import type { Phone, WebAuthnSigner } from '@bonded/phone'
import type { DeviceStore } from './device-store.ts'
import { afterPrompt } from './problem.ts'
import type { Removal } from './screen.ts'
import type { Stage } from './stage.ts'

export interface KeysDependencies {
  readonly phone: Pick<Phone, 'listKeys' | 'removeKey' | 'removeBrowserKey'>
  readonly store: Pick<DeviceStore, 'device' | 'forget'>
  /** Asks the authenticator to remove a key. */
  readonly discard: WebAuthnSigner['discard']
}

/** Lists the phones that approve for the user, and removes one of them or its browser key. */
export interface Keys {
  open(): Promise<void>
  /** Removes what the user has confirmed. */
  remove(removal: Removal): Promise<void>
}

export function createKeys(stage: Stage, { phone, store, discard }: KeysDependencies): Keys {
  const list = async (notice: 'not_verified_by_user' | null = null) => {
    stage.present({ name: 'loading' })
    try {
      // A new phone has no user yet, and would register a key only to list it.
      if ((await store.device()) === undefined) return stage.presentProblem('link_incomplete')
      stage.present({ name: 'keys', keys: await phone.listKeys(), notice })
    } catch (failure) {
      stage.fail(failure)
    }
  }

  const removeOwn = async (deviceId: string) => {
    const device = await store.device()
    await phone.removeKey(deviceId)
    await store.forget()
    if (device !== undefined) await discard(device)
    stage.end('removed')
  }

  return {
    open: () => list(),
    async remove({ key, what }) {
      stage.present({ name: 'working', task: 'removing', request: null })
      try {
        if (what === 'phone' && key.own) return await removeOwn(key.device_id)
        if (what === 'phone') await phone.removeKey(key.device_id)
        else await phone.removeBrowserKey(key.device_id)
      } catch (failure) {
        const asksAgain = afterPrompt(failure, 'remove') === 'ask'
        return asksAgain ? list('not_verified_by_user') : stage.fail(failure)
      }
      await list()
    },
  }
}
