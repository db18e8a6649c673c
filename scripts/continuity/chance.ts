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
  let state = seed >>> 0
  const next = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
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
