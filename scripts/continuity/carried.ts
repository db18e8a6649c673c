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

/**
 * How users handle a phone in the minute before they approve. At the end it is in the hand, and
 * tapped.
 */
export const CARRIED: Readonly<Record<string, (luck: Chance) => readonly Stretch[]>> = {
  'walking, phone in a pocket, taken out': (luck) => [
    {
      seconds: luck.uniform(38, 52),
      movement: walking(luck, { stepMs2: [2, 3.6], swingRad: [0.15, 0.4] }),
    },
    { seconds: luck.uniform(1.5, 3), movement: takingOut(luck) },
    { seconds: luck.uniform(9, 20), movement: inHand(luck) },
  ],
  'walking, phone in the hand': (luck) => [
    {
      seconds: luck.uniform(52, 58),
      movement: together(
        walking(luck, { stepMs2: [0.8, 1.8], swingRad: [0.03, 0.1] }),
        inHand(luck),
      ),
    },
    { seconds: luck.uniform(4, 10), movement: inHand(luck) },
  ],
  'sitting, phone in the hand': (luck) => [
    { seconds: luck.uniform(61, 66), movement: inHand(luck) },
  ],
  'standing in a bus or train, phone in the hand': (luck) => [
    {
      seconds: luck.uniform(61, 66),
      movement: together(vehicle(luck, { shakesMs2: [0.08, 0.5] }), inHand(luck)),
    },
  ],
  'sitting in a bus or train, phone in a pocket, taken out': (luck) => [
    {
      seconds: luck.uniform(30, 45),
      movement: together(vehicle(luck, { shakesMs2: [0.08, 0.5] }), seatedPocket(luck)),
    },
    { seconds: luck.uniform(1.5, 3), movement: takingOut(luck) },
    {
      seconds: luck.uniform(15, 28),
      movement: together(vehicle(luck, { shakesMs2: [0.08, 0.3] }), inHand(luck)),
    },
  ],
  'sitting, phone in a pocket, taken out': (luck) => [
    { seconds: luck.uniform(38, 45), movement: seatedPocket(luck) },
    { seconds: luck.uniform(1.5, 3), movement: takingOut(luck) },
    { seconds: luck.uniform(18, 30), movement: inHand(luck) },
  ],
  'sitting, phone in a pocket, taken out late': (luck) => [
    { seconds: luck.uniform(48, 54), movement: seatedPocket(luck) },
    { seconds: luck.uniform(1, 2), movement: takingOut(luck) },
    { seconds: luck.uniform(8, 14), movement: inHand(luck) },
  ],
  'a mixture: pocket, stairs, standing, hand': (luck) => [
    {
      seconds: luck.uniform(12, 18),
      movement: walking(luck, { stepMs2: [2, 3.6], swingRad: [0.15, 0.4] }),
    },
    {
      seconds: luck.uniform(8, 12),
      movement: walking(luck, { stepMs2: [2.5, 4.5], swingRad: [0.2, 0.5] }),
    },
    { seconds: luck.uniform(6, 14), movement: seatedPocket(luck) },
    { seconds: luck.uniform(1.5, 3), movement: takingOut(luck) },
    { seconds: luck.uniform(25, 35), movement: inHand(luck) },
  ],
}

export function walking(
  luck: Chance,
  {
    stepMs2,
    swingRad,
  }: { stepMs2: readonly [number, number]; swingRad: readonly [number, number] },
): Movement {
  const stepsHz = luck.uniform(1.6, 2.2)
  const pace = wander(luck, { deviation: 0.04, forgetsS: 2 })
  const strength = vigour(luck, { spread: 0.25 })
  const [stepStrength, swing] = [luck.uniform(...stepMs2), luck.uniform(...swingRad)]
  const [up, ahead, hip, side] = [
    direction(luck),
    direction(luck),
    direction(luck),
    direction(luck),
  ]
  const rough = wander3(luck, { deviation: 0.25, forgetsS: 0.04 })
  let [phase, thisStep] = [0, 1]
  return () => {
    const before = Math.floor(phase / (2 * Math.PI))
    phase += (2 * Math.PI * stepsHz * (1 + pace())) / 50
    if (Math.floor(phase / (2 * Math.PI)) !== before) thisStep = Math.exp(0.18 * luck.normal())
    const size = stepStrength * thisStep * strength()
    const bounce = Math.sin(phase) + 0.45 * Math.sin(2 * phase + 0.6) + 0.2 * Math.sin(3 * phase)
    return {
      push: sum(
        times(size * bounce, up),
        times(0.4 * size * Math.sin(phase + 1), ahead),
        times(size, rough()),
      ),
      turn: sum(
        times(swing * strength() * Math.sin(phase / 2), hip),
        times(0.2 * swing * Math.sin(phase), side),
      ),
    }
  }
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
