import { isRefusal, PhoneError } from '../errors.ts'
import { syncTo } from '../server-time.ts'
import type { ClaimedSession, Instruments } from './claimed.ts'

/**
 * Runs an act that signs a time. Where the service finds the time wrong (the phone's clock stood still, say), it tells
 * its own, and the act runs once more by that.
 *
 * @throws what the act throws
 */
export async function resynced<T>(
  phone: Pick<Instruments, 'clock'>,
  claimed: ClaimedSession,
  act: (known: ClaimedSession) => Promise<T>,
): Promise<T> {
  try {
    return await act(claimed)
  } catch (error) {
    const told =
      error instanceof PhoneError && isRefusal(error, 'issued_at_out_of_range')
        ? error.server_time
        : undefined
    if (told === undefined) throw error
    return act({ ...claimed, server_time: syncTo(told, phone.clock) })
  }
}
