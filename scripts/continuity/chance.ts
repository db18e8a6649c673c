import { seeded } from '../../tests/seeded.ts'

/** Pseudorandom numbers that are the same in every run of the same seed. */
export interface Chance {
  uniform(low: number, high: number): number
  /** Normal, with mean 0 and variance 1. */
  normal(): number
  /** Uniform over orders of magnitude. */
  logUniform(low: number, high: number): number
  happens(probability: number): boolean
}

export function chance(seed: number): Chance {
  const below = seeded(seed)
  const next = () => below(2 ** 32) / 2 ** 32
  // Box-Muller yields two at once. 1 - next() is never 0.
  let spare: number | undefined
  const normal = () => {
    if (spare !== undefined) {
      const kept = spare
      spare = undefined
      return kept
    }
    const [length, angle] = [Math.sqrt(-2 * Math.log(1 - next())), 2 * Math.PI * next()]
    spare = length * Math.sin(angle)
    return length * Math.cos(angle)
  }
  const uniform = (low: number, high: number) => low + next() * (high - low)
  return {
    uniform,
    normal,
    logUniform: (low, high) => Math.exp(uniform(Math.log(low), Math.log(high))),
    happens: (probability) => next() < probability,
  }
}
