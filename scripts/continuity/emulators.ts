import type { SensorFeature, SensorSignal } from '@bonded/contract'
import { motionFeatures, type MotionSample } from '@bonded/phone'
import { simulateCarriedPhone } from '@bonded/simulator'
import { RATE_HZ, type Vector } from './body.ts'
import type { Chance } from './chance.ts'

/**
 * Scripts that invent sensor values. Half of them feed readings to an unchanged app; the others
 * write features themselves. All touch the screen when a user would.
 */
export const EMULATORS: Readonly<Record<string, (luck: Chance) => SensorSignal>> = {
  'readings: constants': (luck) => readings(luck, () => ({ acc: [0, 0, 9.81], gyro: [0, 0, 0] })),
  'readings: sine waves': (luck) => readings(luck, sines(luck)),
  'readings: two sine waves that beat': (luck) => readings(luck, sines(luck), sines(luck)),
  'readings: uniform noise': (luck) => {
    const [acc, gyro] = sizes(luck)
    const any = (size: number) => luck.uniform(-size, size)
    return readings(luck, () => ({
      acc: [any(acc), any(acc), 9.81 + any(acc)],
      gyro: [any(gyro), any(gyro), any(gyro)],
    }))
  },
  'readings: gaussian noise': (luck) => readings(luck, gaussian(luck)),
  'readings: gaussian noise, no gravity': (luck) => {
    const noise = gaussian(luck)
    return readings(luck, () => {
      const { acc, gyro } = noise(0)
      return { acc: [acc[0], acc[1], acc[2] - 9.81], gyro }
    })
  },
  'readings: noise in coarse steps': (luck) => {
    const noise = gaussian(luck)
    const step = luck.uniform(0.3, 1)
    const stepped = (vector: Vector): Vector => [
      step * Math.round(vector[0] / step),
      step * Math.round(vector[1] / step),
      step * Math.round(vector[2] / step),
    ]
    return readings(luck, (s) => {
      const { acc, gyro } = noise(s)
      return { acc: stepped(acc), gyro: stepped(gyro) }
    })
  },
  'readings: noise that grows and shrinks': (luck) => {
    const noise = gaussian(luck)
    const hz = luck.uniform(0.02, 0.1)
    return readings(luck, (s) => {
      const size = Math.exp(0.9 * Math.sin(2 * Math.PI * hz * s))
      const { acc, gyro } = noise(s)
      return {
        acc: [size * acc[0], size * acc[1], 9.81 + size * (acc[2] - 9.81)],
        gyro: [size * gyro[0], size * gyro[1], size * gyro[2]],
      }
    })
  },
  'readings: a cradle that swings': (luck) => readings(luck, cradle(luck)),
  'features: one second again and again': (luck) => {
    const second = { acc_var: luck.uniform(0.5, 5), gyro_var: luck.uniform(0.05, 1) }
    return written(luck, () => second)
  },
  'features: a second with a little jitter': (luck) => {
    const [acc, gyro] = [luck.uniform(0.5, 5), luck.uniform(0.05, 1)]
    return written(luck, () => ({
      acc_var: acc * luck.uniform(0.95, 1.05),
      gyro_var: gyro * luck.uniform(0.95, 1.05),
    }))
  },
  'features: ten seconds in a loop': (luck) => {
    const loop = Array.from({ length: 10 }, () => ({
      acc_var: luck.logUniform(0.05, 8),
      gyro_var: luck.logUniform(0.01, 1.5),
    }))
    return written(luck, (at) => ({
      acc_var: (loop[at % 10]?.acc_var ?? 1) * luck.uniform(0.97, 1.03),
      gyro_var: (loop[at % 10]?.gyro_var ?? 1) * luck.uniform(0.97, 1.03),
    }))
  },
  'features: uniform draws': (luck) =>
    written(luck, () => ({ acc_var: luck.uniform(0.02, 9), gyro_var: luck.uniform(0.004, 1.8) })),
  'features: draws over orders of magnitude': (luck) =>
    written(luck, () => ({
      acc_var: luck.logUniform(0.02, 9),
      gyro_var: luck.logUniform(0.004, 1.8),
    })),
  'features: slow waves': (luck) => {
    const [hz, phase] = [luck.uniform(0.02, 0.08), luck.uniform(0, 6)]
    return written(luck, (at) => {
      const size = Math.exp(1.2 * Math.sin(2 * Math.PI * hz * at + phase))
      return {
        acc_var: size * luck.uniform(0.98, 1.02),
        gyro_var: 0.2 * size * luck.uniform(0.98, 1.02),
      }
    })
  },
  'features: impossible pairs': (luck) => {
    const shaken = luck.happens(0.5)
    return written(luck, () => {
      const size = luck.logUniform(0.5, 8)
      return shaken
        ? { acc_var: size * 20, gyro_var: size * 0.001 }
        : { acc_var: size * 0.02, gyro_var: size * 50 }
    })
  },
}

/** Scripts whose author knows how the model works. */
export const INFORMED: typeof EMULATORS = {
  'a script that draws both sensors as one': (luck) =>
    written(luck, () => {
      const size = luck.logUniform(0.02, 9)
      return { acc_var: size, gyro_var: 0.2 * size * luck.uniform(0.6, 1.6) }
    }),
  'a script in which both sensors wander together': (luck) => {
    let [mood, ratio] = [luck.normal(), 0]
    return written(luck, () => {
      mood = 0.85 * mood + 0.5 * luck.normal()
      ratio = 0.5 * ratio + 0.3 * luck.normal()
      return { acc_var: Math.exp(mood), gyro_var: 0.15 * Math.exp(mood + ratio) }
    })
  },
  'the simulated phone of this repository': (luck) =>
    simulateCarriedPhone(() => luck.uniform(0, 1)),
}

type Reading = (s: number) => { acc: Vector; gyro: Vector }

function readings(luck: Chance, ...scripts: readonly Reading[]): SensorSignal {
  const samples = Array.from({ length: 62 * RATE_HZ }, (_, at): MotionSample => {
    const [first, ...others] = scripts.map((script) => script(at / RATE_HZ))
    const { acc, gyro } = first ?? { acc: [0, 0, 0], gyro: [0, 0, 0] }
    const added = (sensor: 'acc' | 'gyro', own: Vector, axis: 0 | 1 | 2) =>
      others.reduce(
        (total, other) => total + other[sensor][axis] - (sensor === 'acc' && axis === 2 ? 9.81 : 0),
        own[axis],
      )
    const all = (sensor: 'acc' | 'gyro', own: Vector): Vector => [
      added(sensor, own, 0),
      added(sensor, own, 1),
      added(sensor, own, 2),
    ]
    return { t_ms: at * (1_000 / RATE_HZ), acc: all('acc', acc), gyro: all('gyro', gyro) }
  })
  const touches_ms = Array.from({ length: 15 }, () => luck.uniform(40_000, 61_900))
  return motionFeatures({ samples, touches_ms }) ?? { window_ms: 60_000, features: [] }
}

function written(
  luck: Chance,
  second: (at: number) => Pick<SensorFeature, 'acc_var' | 'gyro_var'>,
): SensorSignal {
  const features = Array.from({ length: 60 }, (_, at): SensorFeature => {
    const { acc_var, gyro_var } = second(at)
    const handling = at > 40 && luck.happens(0.5) ? Math.floor(luck.uniform(1, 4)) : 0
    return {
      t_ms: at * 1_000,
      acc_var: Number(acc_var.toPrecision(4)),
      gyro_var: Number(gyro_var.toPrecision(4)),
      handling,
    }
  })
  return { window_ms: 60_000, features }
}

function sizes(luck: Chance): [acc: number, gyro: number] {
  return [luck.logUniform(0.2, 4), luck.logUniform(0.05, 1.5)]
}

function gaussian(luck: Chance): Reading {
  const [acc, gyro] = sizes(luck)
  const some = (size: number) => size * luck.normal()
  return () => ({
    acc: [some(acc), some(acc), 9.81 + some(acc)],
    gyro: [some(gyro), some(gyro), some(gyro)],
  })
}

function sines(luck: Chance): Reading {
  const [acc, gyro] = sizes(luck)
  const [hz, shift] = [luck.uniform(0.4, 3), luck.uniform(0, 6)]
  const wave = (s: number, offset: number) => Math.sin(2 * Math.PI * hz * s + shift + offset)
  return (s) => ({
    acc: [acc * wave(s, 0), acc * wave(s, 1), 9.81 + acc * wave(s, 2)],
    gyro: [gyro * wave(s, 3), gyro * wave(s, 4), gyro * wave(s, 5)],
  })
}

/** A machine that rocks a real phone: gravity and rotation agree, and it never tires. */
function cradle(luck: Chance): Reading {
  const [hz, swingRad] = [luck.uniform(0.3, 1.5), luck.uniform(0.1, 0.6)]
  const noise = (size: number) => size * luck.normal()
  return (s) => {
    const angle = swingRad * Math.sin(2 * Math.PI * hz * s)
    const rate = swingRad * 2 * Math.PI * hz * Math.cos(2 * Math.PI * hz * s)
    return {
      acc: [
        9.81 * Math.sin(angle) + noise(0.02),
        noise(0.02),
        9.81 * Math.cos(angle) + noise(0.02),
      ],
      gyro: [noise(0.002), rate + noise(0.002), noise(0.002)],
    }
  }
}
