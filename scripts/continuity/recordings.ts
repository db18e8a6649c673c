import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { MotionSample } from '@bonded/phone'

/**
 * Motion of real phones. The recordings stay outside this repository, which holds only counts that
 * were computed from them.
 */
const FOLDER = resolve(import.meta.dirname, '../../../shared/motion')

/** Why the tests that need the recordings are skipped, or false when they run. */
export const recordingsMissing: string | false = existsSync(FOLDER)
  ? false
  : 'the motion recordings are not here: their tests are skipped'

/** One phone's motion without interruption, 60 readings a second. */
export interface Recording {
  /** The data set, and the number of the recording in it. */
  readonly set: string
  readonly number: number
  /** The user; the phone model where the data set does not name users. */
  readonly group: string
  readonly carried: 'hand' | 'pocket'
  readonly activity: string
  readonly samples: readonly MotionSample[]
}

/** Every recording, in the order of the files. */
export function readRecordings(folder = FOLDER): readonly Recording[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.csv.gz'))
    .toSorted()
    .flatMap((name) => readSet(folder, name.slice(0, -'.csv.gz'.length)))
}

interface Entry {
  readonly recording: number
  readonly group: string
  readonly carried: string
  readonly activity: string
}

function readSet(folder: string, set: string): Recording[] {
  const entries = JSON.parse(readFileSync(resolve(folder, `${set}.json`), 'utf8')) as Entry[]
  const samples = new Map<number, MotionSample[]>()
  const lines = gunzipSync(readFileSync(resolve(folder, `${set}.csv.gz`))).toString('utf8')
  for (const line of lines.trimEnd().split('\n').slice(1)) {
    const [recording = 0, t_ms = 0, ax = 0, ay = 0, az = 0, gx = 0, gy = 0, gz = 0] = line
      .split(',')
      .map(Number)
    const own = samples.get(recording) ?? []
    own.push({ t_ms, acc: [ax, ay, az], gyro: [gx, gy, gz] })
    samples.set(recording, own)
  }
  return entries.map(({ recording, group, carried, activity }) => ({
    set,
    number: recording,
    group,
    carried: carried.startsWith('pocket') ? 'pocket' : 'hand',
    activity,
    samples: samples.get(recording) ?? [],
  }))
}

const DEGREES_PER_RADIAN = 180 / Math.PI

/** The reading as Chrome reports it: in steps of 0.1 m/s² and 0.1 °/s. */
export function rounded({ t_ms, acc, gyro }: MotionSample): MotionSample {
  const tenth = (value: number) => Math.round(value * 10) / 10
  const angular = (value: number) => tenth(value * DEGREES_PER_RADIAN) / DEGREES_PER_RADIAN
  return {
    t_ms,
    acc: [tenth(acc[0]), tenth(acc[1]), tenth(acc[2])],
    gyro: [angular(gyro[0]), angular(gyro[1]), angular(gyro[2])],
  }
}
