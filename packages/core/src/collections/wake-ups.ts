import type { DeviceId } from '@bonded/contract'

/** A phone to wake. */
export interface WakeUp {
  readonly deviceId: DeviceId
  readonly endpoint: string
}

/**
 * Takes the phones to wake, for requests that are stored. Where nothing listens, such as in a
 * command, none is woken: the requests wait in the inbox.
 */
export class WakeUps {
  #listener: ((wakeUps: readonly WakeUp[]) => void) | undefined

  listen(listener: (wakeUps: readonly WakeUp[]) => void): void {
    this.#listener = listener
  }

  add(wakeUps: readonly WakeUp[]): void {
    if (wakeUps.length > 0) this.#listener?.(wakeUps)
  }
}
