import { randomFor } from '../random.ts'

/** A whole number from 0 to below the bound. */
export const random = randomFor('pressure')

export function choose<T>(from: readonly T[]): T {
  return from[random(from.length)] as T
}

/**
 * Waits a random number of turns of the event loop, so that other calls can interleave without a
 * timer.
 */
export async function pause(turnsBelow: number): Promise<void> {
  for (let turn = random(turnsBelow); turn > 0; turn--)
    await new Promise((resolve) => setImmediate(resolve))
}
