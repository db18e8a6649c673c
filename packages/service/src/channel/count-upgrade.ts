import type { SessionId } from '@bonded/contract'
import { accept, type Result, refuse } from '../domain/refusal.ts'
import type { Service } from '../operations/service.ts'

/** Longer than a watch token. A longer value must not fill the limiter's memory. */
const MAX_KEY_LENGTH = 64

/**
 * Counts an upgrade for its session and watch token, before any read from the store. A wrong
 * watch token has its own bucket, so it does not use up the quota of the right one.
 */
export async function countUpgrade(
  { limiter, settings: { limits } }: Service,
  { id, watchToken }: { readonly id: SessionId; readonly watchToken: string },
): Promise<Result<undefined>> {
  if (limits === 'off') return accept(undefined)
  const key = `${id} ${watchToken.slice(0, MAX_KEY_LENGTH)}`
  const { granted, waitMs } = await limiter.take([{ limit: limits.channel, key }])
  if (granted) return accept(undefined)
  return refuse('rate_limited', { step: 'channel', retryAfterMs: waitMs })
}
