import type { SensorSignal } from '@bonded/contract'
import { motionFeatures, type MotionSample } from '@bonded/phone'
import { simulateCarriedPhone } from '@bonded/simulator'
import type { Vector } from './body.ts'
import { WINDOW_S } from './carried.ts'
import type { Chance } from './chance.ts'

/** Readings that need no phone, fed to an unchanged app or page. */
export const EMULATORS: Readonly<Record<string, (luck: Chance) => SensorSignal>> = {
  constants: () => readings(() => ({ acc: [0, 0, 9.81], gyro: [0, 0, 0] })),
  'sine waves, 0.4 to 3 Hz, each axis with its own phase': (luck) => readings(sines(luck, 1)),
  'sine waves, 0.4 to 3 Hz, all axes in phase': (luck) => readings(sines(luck, 0)),
  'white noise, gaussian': (luck) => readings(gaussian(luck)),
  'white noise, uniform': (luck) => {
    const [acc, gyro] = sizes(luck)
    const any = (size: number) => luck.uniform(-size, size)
    return readings(() => ({
      acc: [any(acc), any(acc), 9.81 + any(acc)],
      gyro: [any(gyro), any(gyro), any(gyro)],
    }))
  },
}

/** Readings that pass, for all or some of their authors' choices. */
export const PASSING: typeof EMULATORS = {
  'white noise, gaussian, 30 readings a second': (luck) => readings(gaussian(luck), 30),
  'white noise on one axis only': (luck) => {
    const noise = gaussian(luck)
    return readings(() => {
      const { acc, gyro } = noise(0)
      return { acc: [0, 0, acc[2]], gyro: [0, 0, gyro[2]] }
    })
  },
  'noise with drifting loudness': (luck) => {
    const noise = gaussian(luck)
    let [second, loudness] = [-1, luck.normal()]
    return readings((s) => {
      if (Math.floor(s) !== second) loudness = 0.8 * loudness + 0.4 * luck.normal()
      second = Math.floor(s)
      const size = Math.exp(loudness)
      const { acc, gyro } = noise(s)
      return {
        acc: [size * acc[0], size * acc[1], 9.81 + size * (acc[2] - 9.81)],
        gyro: [size * gyro[0], size * gyro[1], size * gyro[2]],
      }
    })
  },
  'the simulated phone of this repository': (luck) =>
    simulateCarriedPhone(() => luck.uniform(0, 1)),
}

type Reading = (s: number) => { acc: Vector; gyro: Vector }

/** The rate of Chrome and Safari. */
const RATE_HZ = 60

function readings(script: Reading, rateHz = RATE_HZ): SensorSignal {
  const samples = Array.from({ length: WINDOW_S * rateHz }, (_, index): MotionSample => {
    return { t_ms: index * (1_000 / rateHz), ...script(index / rateHz) }
  })
  const touches_ms = [WINDOW_S * 1_000 - 50]
  return motionFeatures({ samples, touches_ms }) ?? { window_ms: 1_000, features: [] }
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

/** @param apart the phase between two axes, in rad */
function sines(luck: Chance, apart: number): Reading {
  const [acc, gyro] = sizes(luck)
  const [hz, shift] = [luck.uniform(0.4, 3), luck.uniform(0, 6)]
  const wave = (s: number, axis: number) => Math.sin(2 * Math.PI * hz * s + shift + apart * axis)
  return (s) => ({
    acc: [acc * wave(s, 0), acc * wave(s, 1), 9.81 + acc * wave(s, 2)],
    gyro: [gyro * wave(s, 3), gyro * wave(s, 4), gyro * wave(s, 5)],
  })
}
