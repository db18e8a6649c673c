import { PhoneError } from '@bonded/phone'

/** A point at which the page waits for its user. */
export interface Pause {
  /** Waits for `end`. @throws {PhoneError} `cancelled` after `cancel` */
  (): Promise<void>
  end(): void
  cancel(): void
}

/** Creates a pause. One act waits at a time; a later one cancels it. */
export function createPause(): Pause {
  let waiting: PromiseWithResolvers<void> | undefined
  const cancel = () => waiting?.reject(new PhoneError('cancelled'))
  const wait = () => {
    cancel()
    waiting = Promise.withResolvers()
    return waiting.promise
  }
  return Object.assign(wait, { end: () => waiting?.resolve(), cancel })
}
