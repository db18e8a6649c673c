import { isRejection, PhoneError } from '../errors.ts'
import type { PhoneClock } from '../ports.ts'
import { type ServerTime, syncTo } from '../server-time.ts'

/**
 * Runs an act that signs a time. When the service rejects the time, for example because the phone's
 * clock stopped, the act runs once more with the time of the rejection.
 *
 * @throws what the act throws
 */
export async function withServerTime<T>(
  { clock }: { readonly clock: PhoneClock },
  time: ServerTime,
  act: (time: ServerTime) => Promise<T>,
): Promise<T> {
  try {
    return await act(time)
  } catch (error) {
    const server_time = isRejection(error, 'issued_at_out_of_range')
      ? (error as PhoneError).server_time
      : undefined
    if (server_time === undefined) throw error
    return act(syncTo(server_time, clock))
  }
}
