import {
  direction,
  type Movement,
  type Stretch,
  sum,
  times,
  type Vector,
  wander,
  wander3,
} from './body.ts'
import { inHand, seatedPocket, takingOut, together, vehicle, WINDOW_S } from './carried.ts'
import type { Chance } from './chance.ts'

/** Phones that lie on a surface, not held by a user. */
export const DESK: Readonly<Record<string, (luck: Chance) => readonly Stretch[]>> = {
  'lying still': () => lying(resting),
  'typing beside it': (luck) => lying(typing(luck)),
  'a machine runs on the desk': (luck) => lying(machine(luck)),
  'buzzing from time to time': (luck) => lying(buzzing(luck)),
  'typing beside it, knocks, one tap as it lies': (luck) =>
    lying(together(typing(luck), knocks(luck), tapped(luck))),
}

/** Phones that are not held, but are moved or touched. */
export const NEARLY_DESK: typeof DESK = {
  'on the desk, scrolled as it lies': (luck) => lying(scrolled(luck)),
  'on the table of a train': (luck) => lying(trainTable(luck)),
  'on a sofa beside the user, tapped once': (luck) => lying(together(cushion(luck), tapped(luck))),
  'in a holder in a moving car, tapped once': (luck) =>
    lying(together(vehicle(luck, { shakesMs2: [0.1, 0.5] }), tapped(luck))),
}

/** A phone that lies still until a user picks it up for the last seconds. */
export function takenUp(luck: Chance, inHandS: number): readonly Stretch[] {
  return [
    { seconds: WINDOW_S - inHandS, movement: resting },
    { seconds: 1, movement: takingOut(luck) },
    { seconds: inHandS - 1, movement: inHand(luck) },
  ]
}

function lying(movement: Movement): readonly Stretch[] {
  return [{ seconds: WINDOW_S, movement }]
}

const NONE: Vector = [0, 0, 0]
const resting: Movement = () => ({ push: NONE, turn: NONE })

/** A keystroke: the board rings for a moment, and rocks far less than a hand does. */
function typing(luck: Chance): Movement {
  return strokes(luck, {
    everyS: luck.uniform(0.15, 0.35),
    pushMs2: [0.05, 0.4],
    rockRad: luck.logUniform(0.00001, 0.0001),
  })
}

function knocks(luck: Chance): Movement {
  return strokes(luck, {
    everyS: luck.uniform(15, 30),
    pushMs2: [0.5, 4],
    rockRad: luck.logUniform(0.0005, 0.002),
  })
}

function strokes(
  luck: Chance,
  of: { everyS: number; pushMs2: readonly [number, number]; rockRad: number },
): Movement {
  const [up, axis] = [direction(luck), direction(luck)]
  const ringHz = luck.uniform(12, 24)
  let [age, size, next] = [1, 0, luck.uniform(0, of.everyS)]
  return (sinceS) => {
    if (sinceS >= next) {
      ;[age, size] = [0, luck.logUniform(...of.pushMs2)]
      next = sinceS - of.everyS * Math.log(luck.uniform(0.001, 1))
    }
    age += 0.02
    const ring = Math.exp(-age / 0.06) * Math.sin(2 * Math.PI * ringHz * age)
    return { push: times(size * ring, up), turn: times(of.rockRad * ring * size, axis) }
  }
}

/** A fan, a printer or a washing machine below. */
function machine(luck: Chance): Movement {
  const hz = luck.uniform(7, 23)
  const [up, axis] = [direction(luck), direction(luck)]
  const [pushMs2, rockRad] = [luck.logUniform(0.05, 1), luck.logUniform(0.000005, 0.0001)]
  const load = wander(luck, { deviation: 0.2, forgetsS: 8 })
  return (sinceS) => {
    const size = Math.exp(load()) * Math.sin(2 * Math.PI * hz * sinceS)
    return { push: times(pushMs2 * size, up), turn: times(rockRad * size, axis) }
  }
}

/**
 * The table moves with the carriage: rumble and a slow roll, smaller than in a standing passenger's
 * hand.
 */
function trainTable(luck: Chance): Movement {
  const rumble = wander3(luck, { deviation: luck.logUniform(0.08, 0.4), forgetsS: 0.03 })
  const sway = wander3(luck, { deviation: luck.uniform(0.1, 0.3), forgetsS: 0.8 })
  const roll = wander3(luck, { deviation: luck.logUniform(0.001, 0.006), forgetsS: 0.8 })
  const speed = wander(luck, { deviation: 0.6, forgetsS: 12 })
  return () => {
    const size = Math.exp(speed())
    return { push: times(size, sum(rumble(), sway())), turn: times(size, roll()) }
  }
}

/** The phone's own motor, for a second, every few seconds. */
function buzzing(luck: Chance): Movement {
  const everyS = luck.uniform(3, 8)
  const [pushMs2, turnRad] = [luck.uniform(1, 4), luck.logUniform(0.0001, 0.001)]
  const [up, axis] = [direction(luck), direction(luck)]
  const phase = luck.uniform(0, everyS)
  return (sinceS) => {
    const on = (sinceS + phase) % everyS < 0.8 ? Math.sin(2 * Math.PI * 19 * sinceS) : 0
    return { push: times(pushMs2 * on, up), turn: times(turnRad * on, axis) }
  }
}

/**
 * Touches on the glass: a phone on a hard table tilts at an edge, by a few thousandths of a radian.
 */
function scrolled(luck: Chance): Movement {
  const everyS = luck.uniform(0.6, 2)
  const hit = strokes(luck, {
    everyS,
    pushMs2: [0.3, 1.5],
    rockRad: luck.logUniform(0.0005, 0.003),
  })
  let next = luck.uniform(0, everyS)
  return (sinceS, touch) => {
    if (sinceS >= next) {
      touch()
      next = sinceS - everyS * Math.log(luck.uniform(0.001, 1))
    }
    return hit(sinceS, touch)
  }
}

/** What remains of a user's movements two hands further on. */
function cushion(luck: Chance): Movement {
  const body = seatedPocket(luck)
  const left = luck.uniform(0.05, 0.3)
  return (sinceS, touch) => {
    const { push, turn } = body(sinceS, touch)
    return { push: times(left, push), turn: times(left, turn) }
  }
}

/** The single touch that approves, on a phone that stays where it is. */
function tapped(luck: Chance): Movement {
  const atS = luck.uniform(WINDOW_S - 2, WINDOW_S)
  const way = direction(luck)
  let done = false
  return (sinceS, touch) => {
    if (sinceS >= atS && !done) {
      done = true
      touch()
    }
    const ring = sinceS < atS ? 0 : Math.exp(-(sinceS - atS) / 0.05)
    return { push: times(1.2 * ring, way), turn: times(0.004 * ring, way) }
  }
}
