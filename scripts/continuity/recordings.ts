import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { MotionSample } from '@bonded/phone'
import { chance } from './chance.ts'

/**
 * Motion of real phones. The recordings stay outside this repository, which holds only counts that
 * were computed from them.
 */
export const MOTION = resolve(import.meta.dirname, '../../../shared/motion')

/** Why the tests that need the recordings are skipped, or false when they run. */
export const recordingsMissing: string | false = existsSync(MOTION)
  ? false
  : `the recorded motion is not at ${MOTION}; the tests that replay it are skipped`

/** One phone's motion without interruption, 60 readings a second. */
export interface Recording {
  /** The data set, and the number of the recording in it. */
  readonly set: string
  readonly number: number
  /** The user; the phone model where the data set does not name users. */
  readonly group: string
  readonly carried: 'hand' | 'pocket'
  readonly activity: string
  /** Whether the limits of a movement were chosen without it. */
  readonly isHeldOut: boolean
  readonly samples: readonly MotionSample[]
}

/** Every recording, in the order of the files. */
export function readRecordings(folder = MOTION): readonly Recording[] {
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
  readonly source_path: string
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
  return entries.map(({ recording, group, carried, activity, source_path }) => ({
    set,
    number: recording,
    group,
    carried: carried.startsWith('pocket') ? 'pocket' : 'hand',
    activity,
    isHeldOut: !FITTED.some((part) => source_path.includes(part)),
    samples: samples.get(recording) ?? [],
  }))
}

/**
 * Half of the people, one of the two buildings in which the location set was recorded, and the
 * iPhone's. The limits of a movement were chosen on these.
 */
const FITTED = ['/s01/', '/s05/', '/s09/', '/s13/', '/s17/', '/s21/', '/site1/', '.rda']

/** The rates at which windows are read, of browsers and apps on several phones. */
export const RATES_HZ = [20, 30, 50, 60, 100]

/**
 * The recording as a page reads it: the newest reading, at this rate, at times that are a tenth of
 * a period off.
 */
export function readAt(samples: readonly MotionSample[], rateHz: number): readonly MotionSample[] {
  const luck = chance(rateHz)
  const endMs = samples.at(-1)?.t_ms ?? 0
  let newest = 0
  return Array.from({ length: Math.floor((endMs * rateHz) / 1_000) }, (_, index) => {
    const t_ms = (index + 0.5 + luck.uniform(-0.17, 0.17)) * (1_000 / rateHz)
    while ((samples[newest + 1]?.t_ms ?? Number.POSITIVE_INFINITY) <= t_ms) newest++
    const sample = samples[newest]
    if (sample === undefined) throw new Error('a recording without readings')
    return { ...sample, t_ms }
  })
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
