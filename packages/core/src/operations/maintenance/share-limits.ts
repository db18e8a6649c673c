import type { Batch } from './batch.ts'
import type { Service } from '../service.ts'

/** Exchanges limits with the other nodes. */
export async function shareLimits({ peers }: Pick<Service, 'peers'>): Promise<Batch> {
  const isSilent = (await peers.exchange?.()) === 'silent'
  return { done: 0, more: false, quiet: isSilent }
}
