import {
  direction,
  type Movement,
  type Stretch,
  sum,
  times,
  type Vector,
  vigour,
  wander,
  wander3,
} from './body.ts'
import type { Chance } from './chance.ts'

/** How long the simulated windows are: about as long as the phone page is open. */
export const WINDOW_S = 10

/** Phones that are held, in ways that the recordings do not show. */
export const CARRIED: Readonly<Record<string, (luck: Chance) => readonly Stretch[]>> = {
  'sitting, phone in the hand': (luck) => [{ seconds: WINDOW_S, movement: inHand(luck) }],
  'standing in a bus or train, phone in the hand': (luck) => [
    {
      seconds: WINDOW_S,
      movement: together(vehicle(luck, { shakesMs2: [0.08, 0.5] }), inHand(luck)),
    },
  ],
  'sitting, phone in a pocket, taken out': (luck) => [
    { seconds: 2, movement: seatedPocket(luck) },
    { seconds: 2, movement: takingOut(luck) },
    { seconds: WINDOW_S - 4, movement: inHand(luck) },
  ],
}

/**
 * Reading, scrolling and tapping: tremor, a hand that sinks and is lifted again, and touches on the
 * glass.
 */
export function inHand(luck: Chance): Movement {
  const strength = vigour(luck, { spread: 0.35 })
  const tremorHz = luck.uniform(8, 11)
  const [tremorRad, tremorMs2] = [luck.logUniform(0.0003, 0.0015), luck.logUniform(0.03, 0.12)]
  const [tremorAxis, tremorWay] = [direction(luck), direction(luck)]
  const sway = wander3(luck, {
    deviation: luck.logUniform(0.02, 0.07),
    forgetsS: luck.uniform(0.5, 1.2),
  })
  const drift = wander3(luck, { deviation: luck.logUniform(0.05, 0.15), forgetsS: 4 })
  const push = wander3(luck, { deviation: luck.logUniform(0.05, 0.15), forgetsS: 0.3 })
  const tapsHz = luck.uniform(0.3, 1.5)
  const reading = wander(luck, { deviation: 1, forgetsS: 6 })
  const regrip = shifts(luck, { everyS: 15, sizeRad: [0.15, 0.5] })
  const [tapWay, tapAxis] = [direction(luck), direction(luck)]
  let [tapAge, tapMs2, next] = [1, 0, luck.uniform(0.2, 2)]
  return (sinceS, touch) => {
    if (sinceS >= next) {
      touch()
      ;[tapAge, tapMs2] = [0, luck.uniform(0.3, 1.5)]
      // In bursts: the user scrolls, then reads.
      next = sinceS - Math.log(luck.uniform(0.001, 1)) / (tapsHz * Math.exp(reading()))
    }
    tapAge += 0.02
    const tap = tapMs2 * Math.exp(-tapAge / 0.04)
    const size = strength()
    const tremor = Math.sin(2 * Math.PI * tremorHz * sinceS)
    return {
      push: sum(
        times(size * tremorMs2 * tremor, tremorWay),
        times(tap, tapWay),
        times(size, push()),
      ),
      turn: sum(
        times(size * tremorRad * tremor, tremorAxis),
        times(tap * 0.01, tapAxis),
        times(size, sway()),
        drift(),
        regrip(sinceS),
      ),
    }
  }
}

/** From the pocket to the eyes: one large turn and one pull. */
export function takingOut(luck: Chance): Movement {
  const axis = direction(luck)
  const [turnRad, lastsS] = [luck.uniform(1.2, 2.6), luck.uniform(1, 2)]
  const pull = wander3(luck, { deviation: luck.uniform(1.5, 3.5), forgetsS: 0.12 })
  const wobble = wander3(luck, { deviation: 0.15, forgetsS: 0.25 })
  return (sinceS) => ({
    push: pull(),
    turn: sum(times(turnRad * eased(sinceS / lastsS), axis), wobble()),
  })
}

/** Breath and pulse, and every few seconds a movement of a leg. */
export function seatedPocket(luck: Chance): Movement {
  const breathHz = luck.uniform(0.2, 0.33)
  const breathRad = luck.uniform(0.001, 0.005)
  const axis = direction(luck)
  const fidget = shifts(luck, { everyS: luck.uniform(5, 10), sizeRad: [0.04, 0.4] })
  const restless = wander3(luck, { deviation: luck.logUniform(0.003, 0.012), forgetsS: 0.5 })
  const push = wander3(luck, { deviation: luck.logUniform(0.02, 0.08), forgetsS: 0.2 })
  const strength = vigour(luck, { spread: 0.6, forgetsS: 4 })
  return (sinceS) => {
    const size = strength()
    return {
      push: times(size, push()),
      turn: sum(
        times(breathRad * Math.sin(2 * Math.PI * breathHz * sinceS), axis),
        times(size, restless()),
        fidget(sinceS),
      ),
    }
  }
}

/** The floor of a vehicle: rumble that follows the speed, and sway. */
export function vehicle(
  luck: Chance,
  { shakesMs2 }: { shakesMs2: readonly [number, number] },
): Movement {
  const speed = vigour(luck, { spread: 0.6, forgetsS: 12 })
  const rumble = wander3(luck, { deviation: luck.logUniform(...shakesMs2), forgetsS: 0.03 })
  const sway = wander3(luck, { deviation: luck.uniform(0.1, 0.35), forgetsS: 0.8 })
  const roll = wander3(luck, { deviation: luck.uniform(0.005, 0.02), forgetsS: 0.7 })
  return () => {
    const size = speed()
    return { push: times(size, sum(rumble(), sway())), turn: times(size, roll()) }
  }
}

export function together(...movements: readonly Movement[]): Movement {
  return (sinceS, touch) => {
    const all = movements.map((movement) => movement(sinceS, touch))
    return { push: sum(...all.map(({ push }) => push)), turn: sum(...all.map(({ turn }) => turn)) }
  }
}

/** A turn to another posture from time to time, each about a second long. */
function shifts(
  luck: Chance,
  { everyS, sizeRad }: { everyS: number; sizeRad: readonly [number, number] },
): (sinceS: number) => Vector {
  let [from, way]: [Vector, Vector] = [
    [0, 0, 0],
    [0, 0, 0],
  ]
  let [beganS, lastsS] = [0, 1]
  let next = -everyS * Math.log(luck.uniform(0.001, 1))
  return (sinceS) => {
    if (sinceS >= next && sinceS >= beganS + lastsS) {
      from = sum(from, way)
      way = times(luck.uniform(...sizeRad), direction(luck))
      ;[beganS, lastsS] = [sinceS, luck.uniform(0.4, 1.2)]
      next = sinceS - everyS * Math.log(luck.uniform(0.001, 1))
    }
    return sum(from, times(eased((sinceS - beganS) / lastsS), way))
  }
}

/** From 0 to 1 with the least jerk, as limbs move. */
function eased(progress: number): number {
  const p = Math.max(0, Math.min(1, progress))
  return p * p * p * (10 + p * (6 * p - 15))
}
