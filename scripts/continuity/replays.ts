import type { SensorFeature, SensorSignal } from '@bonded/contract'
import { motionFeatures, type MotionRecording } from '@bonded/phone'
import type { Chance } from './chance.ts'

interface Recorded {
  readonly recording: MotionRecording
  readonly signal: SensorSignal
}

/** A window of a carried phone, sent again days later. */
export const REPLAYS: Readonly<Record<string, (recorded: Recorded, luck: Chance) => SensorSignal>> =
  {
    unchanged: ({ signal }) => signal,
    'cut to 45 of its seconds': ({ signal }, luck) => {
      const from = Math.floor(luck.uniform(0, 14))
      const features = signal.features
        .slice(from, from + 45)
        .map((feature) => ({ ...feature, t_ms: feature.t_ms - from * 1_000 }))
      return { window_ms: 45_000, features }
    },
    'with 1 % of jitter': ({ signal }, luck) => jittered(signal, luck, 0.01),
    'with 3 % of jitter': ({ signal }, luck) => jittered(signal, luck, 0.03),
    'louder or quieter by up to a third': ({ signal }, luck) => {
      const [acc, gyro] = [luck.uniform(0.7, 1.33), luck.uniform(0.7, 1.33)]
      return changed(signal, ({ acc_var, gyro_var }) => ({
        acc_var: acc_var * acc,
        gyro_var: gyro_var * gyro,
      }))
    },
    'louder or quieter, with 1 % of jitter and other touches': ({ signal }, luck) => {
      const size = luck.uniform(0.7, 1.33)
      const louder = changed(signal, ({ acc_var, gyro_var }) => ({
        acc_var: acc_var * size,
        gyro_var: gyro_var * size,
      }))
      return changed(jittered(louder, luck, 0.01), () => ({ handling: luck.happens(0.3) ? 1 : 0 }))
    },
    'the recording played into the sensors, with their noise': ({ recording }, luck) => {
      const cut = Math.floor(luck.uniform(10, 40))
      const noisy = (value: number, deviation: number) => value + deviation * luck.normal()
      const samples = recording.samples.slice(0, -cut).map(({ t_ms, acc, gyro }) => ({
        t_ms,
        acc: [noisy(acc[0], 0.01), noisy(acc[1], 0.01), noisy(acc[2], 0.01)] as const,
        gyro: [noisy(gyro[0], 0.001), noisy(gyro[1], 0.001), noisy(gyro[2], 0.001)] as const,
      }))
      return motionFeatures({ ...recording, samples }) ?? { window_ms: 60_000, features: [] }
    },
  }

/** Replays that change more than the fingerprints of a window tolerate. */
export const HARDER_REPLAYS: typeof REPLAYS = {
  'a replay with 5 % of jitter': ({ signal }, luck) => jittered(signal, luck, 0.05),
  'a replay with 10 % of jitter': ({ signal }, luck) => jittered(signal, luck, 0.1),
}

function jittered(signal: SensorSignal, luck: Chance, deviation: number): SensorSignal {
  const some = () => Math.exp(deviation * luck.normal())
  return changed(signal, ({ acc_var, gyro_var }) => ({
    acc_var: acc_var * some(),
    gyro_var: gyro_var * some(),
  }))
}

function changed(
  signal: SensorSignal,
  change: (feature: SensorFeature) => Partial<SensorFeature>,
): SensorSignal {
  return {
    ...signal,
    features: signal.features.map((feature) => ({ ...feature, ...change(feature) })),
  }
}
