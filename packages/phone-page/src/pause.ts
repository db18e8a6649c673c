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
  let waiting: { readonly end: () => void; readonly fail: (error: PhoneError) => void } | undefined
  const cancel = () => waiting?.fail(new PhoneError('cancelled'))
  const wait = () => {
    cancel()
    return new Promise<void>((end, fail) => void (waiting = { end, fail }))
  }
  return Object.assign(wait, { end: () => waiting?.end(), cancel })
}
