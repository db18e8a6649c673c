import { MIN_CONTINUITY_SCORE } from '@bonded/contract'
import { SensorFeature, SensorSignal } from '../../packages/contract/src/schemas/evidence.ts'
import {
  CARRIED_SECOND,
  CONTINUITY_FACTORS,
  CONTINUITY_MODEL,
  MIN_CARRIED_SECONDS,
} from '../../packages/core/src/domain/continuity.ts'
import {
  FINGERPRINT_STEP,
  MAX_STORED_WINDOWS,
  MIN_REPEATED_FINGERPRINTS,
  REPETITION_THRESHOLD,
  SECONDS_PER_FINGERPRINT,
} from '../../packages/core/src/domain/motion-memory.ts'
import { LONG_LIVED_DECAY } from '../../packages/core/src/domain/scoring.ts'
import { MOVEMENT_LIMITS } from '../../packages/phone/src/sensors/movement.ts'
import { type Class, confusion, type Row } from './confusion.ts'
import { RATES_HZ } from './recordings.ts'
import { readRecordedCounts, type RecordedCounts } from './measure-recordings.ts'

/**
 * The page about the continuity model: its numbers from the code, its error rates from recordings
 * and simulated windows.
 */
export function continuityPage(): string {
  const rows = confusion()
  const recorded = readRecordedCounts()
  if (recorded.model !== CONTINUITY_MODEL)
    throw new Error('recorded.json is of another model: run npm run measure:motion')
  return [
    `# Sensor continuity (model \`${CONTINUITY_MODEL}\`)`,
    'The score `sensor_continuity.continuity_score`, 0 to 1, states how clearly **the phone was held or worn, not lying still**, until the moment of approval. It does not prove that the user is present: scripts, recordings of other phones, and phones in vehicles pass. The service computes the score from the features that the phone sends in `signals.sensor_continuity`, and discards the features after the request. Every evidence summary contains the name of the model. The name changes with any number of the model.',
    `A workflow that requires \`sensor_continuity\` demands ${MIN_CONTINUITY_SCORE} or more. Below that score the integrator library sends a bond to review.`,
    '## Sensor features',
    table(['member', 'unit', 'minimum', 'maximum'], featureRows()),
    `The phone sends one entry per second, at most ${keywordsOf(SensorSignal.properties.features).maxItems}, oldest first. \`motionFeatures\` of \`@bonded/phone\` computes them from the sensor readings of the last minute. A variance is the sum of the variances of the three axes over the readings of the second. Acceleration includes gravity. The seconds are aligned so that the strongest jolt of the recording is in the middle of one, so a recording of 8 seconds has 7 entries. The same movement, played into the sensors again, therefore gives the same seconds. \`handling\` counts touches of the screen, plus one if the phone turned by over 35 degrees within the second; the model does not use it. A second with fewer than ten readings, or with a mean acceleration that a phone near the ground cannot have, has no entry.`,
    `**Rotation of noise and waves.** \`gyro_var\` is 0 in a second whose readings are unrelated to each other, as noise is, or whose rotation is a wave. Two measures decide:`,
    table(
      ['measure of the second', 'rotation counts'],
      [
        ['roughness', `below ${MOVEMENT_LIMITS.roughness.below}`],
        ['deviation from a wave', `above ${MOVEMENT_LIMITS.waveDeviation.above}`],
      ],
    ),
    'The *roughness* of a sensor is half the mean squared difference of consecutive readings, relative to their variance, over the three axes: near 0 for a smooth movement and 1 for unrelated readings. It is averaged over both sensors. A reading that repeats the previous one does not count, because browsers repeat readings of slower sensors.',
    'For the *deviation from a wave*, the rotation is averaged over each tenth of a second. On each axis, with *v* for a value and *n* for the sum of its two neighbors, both less their means, *m* is Σ*nv* / Σ*v*², between -2 and 2. The measure is the sum of Σ(*n* − *mv*)² / (2 + *m*²) over the axes, divided by the sum of Σ*v*²: 0 for a wave.',
    'The service rejects a request with a number outside the bounds. If entries are out of order or beyond the window, the score is 0.',
    'A phone that sends no features, or too few, can give the reason in `signals.sensor_continuity_missing`: `denied` by the user, `missing` sensors, or `too_short`. The reason appears in the timeline as the note `motion_denied`, `motion_missing`, or `motion_too_short` only.',
    '## Carried seconds',
    table(
      ['measure of the second', 'above', 'below'],
      Object.entries(CARRIED_SECOND).map(([name, { above, below }]) => [
        labelOf(name),
        String(above),
        String(below),
      ]),
    ),
    `Fewer than ${MIN_CARRIED_SECONDS} carried seconds score 0. \`motion_present\` is true if at least one second was carried.`,
    '## The score',
    'The score is the product of these factors, rounded down to four decimals. Each factor is 0 at *none* and 1 at *full*, and linear in between, so each can only lower the score.',
    table(
      ['factor', 'measure', 'none', 'full'],
      Object.entries(CONTINUITY_FACTORS).map(([name, { measure, none, full }]) => [
        name,
        measure,
        String(none),
        String(full),
      ]),
    ),
    'For *irregularity*, each series of variances is divided by its standard deviation. With *v* for a second and *n* for the sum of its two neighbors, both less their means, *m* is Σ*nv* / Σ*v*² over both series, between -2 and 2. The measure is the root mean square of *n* − *mv*, divided by √(2 + *m*²).',
    '## Repetition',
    `The service stores fingerprints of each window that scores ${MIN_CONTINUITY_SCORE} or more. For each ${SECONDS_PER_FINGERPRINT} consecutive carried seconds, a fingerprint is a keyed hash of both variances, in steps of ${FINGERPRINT_STEP} of their natural logarithms. The hashes do not reveal how the phone moved. The service stores the last ${MAX_STORED_WINDOWS} windows of a device until the device is removed. A window is a repetition if ${REPETITION_THRESHOLD * 100} % of its fingerprints, and at least ${MIN_REPEATED_FINGERPRINTS}, match one stored window. The score is then 0, \`motion_present\` is false, and the timeline has the note \`motion_repeated\`. The service ignores stored windows of the last two minutes plus the length of the window, because honest windows overlap.`,
    '## Accuracy on recordings',
    ...accuracy(recorded),
    '## Simulated accuracy',
    ...simulated(rows),
    '## Limitations',
    'Consider these simulated windows of ten seconds before a policy relies on the score:',
    kinds(rows, 'limit'),
    [
      'A script passes: it needs only noise that is as smooth as a limb, or any recording. The phone reports the features itself. With an attested key, an unchanged app on a real phone reports them, and a script must then feed the sensors below that app. A script that sends features without readings avoids the measures of rotation.',
      'A phone in a moving vehicle passes without a user. Of 356 recorded windows of ten seconds in a car holder, read 60 times a second, 72 % passed.',
      'The service recognizes a replay only from the phone that sent the original. It does not recognize a recording of another phone, one older than the last eight windows, one that was never sent, or one that is louder, quieter, slower, or reassembled.',
      'The model cannot identify who holds the phone, for example a thief.',
      'The model rejects a user who leaves the phone on a surface. Only 19 seconds of a phone held still while sitting were recorded; the simulations add more.',
      'Removing a root key makes the fingerprints under it useless.',
    ]
      .map((line) => `- ${line}`)
      .join('\n'),
    '## Long-term score',
    `\`continuity_score_long_lived\` is an exponentially weighted mean over a device’s bonds with one tenant. It starts with the first bond’s score, and each later bond moves it ${LONG_LIVED_DECAY} of the way toward its own score. A bond without sensors counts as 0. Bonds with other tenants do not count.`,
  ].join('\n\n')
}

const ACCURACY_HEAD = ['situation', 'windows', 'accepted', 'not accepted', 'accepted, in %']

function accuracy({ windows, rates, unrelated, replays }: RecordedCounts): string[] {
  return [
    `Real phones, with readings rounded as Chrome rounds them. A new window starts every second, so windows overlap, and the intervals are wider than the counts suggest. Accepted means a score of ${MIN_CONTINUITY_SCORE} or more. The last column is the simplest rule that was considered, in [decision ${DECISION}](../decisions/${DECISION_FILE}).`,
    table(
      ['recordings', 'seconds', ...ACCURACY_HEAD.slice(1), 'by the simple rule, in %'],
      windows.map((row) => [
        `${SETS[row.set] ?? row.set}: ${row.carried}`,
        String(row.seconds),
        ...counts(row),
        percent(row.acceptedByRule, row.windows),
      ]),
    ),
    `Windows of ten seconds at other rates of reading, at uneven times. The limits on rotation were chosen on the fitted half of the people and buildings, without the other. The other limits were chosen with all recordings in view. [Decision ${DECISION}](../decisions/${DECISION_FILE}) has results for further phones.`,
    table(
      ['recordings', ...RATES_HZ.map((rateHz) => `${rateHz} readings a second`)],
      rateRows(rates),
    ),
    'Repetitions among windows of different recordings, or of different times in one recording. None of them is a replay:',
    table(
      ['seconds', 'seconds of the stored window', 'pairs', 'repetitions', 'in %'],
      unrelated.map(({ seconds, storedSeconds, pairs, repetitions }) => [
        String(seconds),
        String(storedSeconds),
        String(pairs),
        String(repetitions),
        ((100 * repetitions) / pairs).toFixed(4),
      ]),
    ),
    'Replays of accepted windows, if their score is 0.6 or more as well:',
    table(
      ['replay', 'seconds', 'windows', 'recognized', 'in %'],
      replays.map(({ change, seconds, windows: all, repetitions }) => [
        change,
        String(seconds),
        String(all),
        String(repetitions),
        percent(repetitions, all),
      ]),
    ),
    [
      'Sources: [indoor-location-competition-20](https://github.com/location-competition/indoor-location-competition-20) (walking with the phone in the hand, one phone model), [sp-sw-har-dataset](https://github.com/GeoTecINIT/sp-sw-har-dataset) (pocket, 12 people; doi:10.5281/zenodo.8398688), [mhealthtools](https://github.com/Sage-Bionetworks/mhealthtools) (iPhone).',
      'The recordings are not part of this repository. `npm run measure:motion` writes the counts where they are.',
    ].join(' '),
  ]
}

/** One row for each half of a set, with the accepted windows at each rate. */
function rateRows(rates: RecordedCounts['rates']): string[][] {
  const halves = Map.groupBy(
    rates,
    ({ set, carried, isHeldOut }) =>
      `${SETS[set] ?? set}: ${carried}, ${isHeldOut ? 'held out' : 'fitted'}`,
  )
  return [...halves].map(([half, those]) => [
    half,
    ...RATES_HZ.map((rateHz) => {
      const found = those.find((row) => row.rateHz === rateHz)
      return found === undefined ? '' : `${found.accepted} of ${found.windows}`
    }),
  ])
}

const SETS: Readonly<Record<string, string>> = {
  'indoor-location-hand': 'indoor-location-competition-20',
  'sp-sw-har-pocket': 'sp-sw-har-dataset',
  'mhealthtools-iphone': 'mhealthtools',
}

const DECISION = 67
const DECISION_FILE = '0067-held-or-worn.md'

function simulated(rows: readonly Row[]): string[] {
  return [
    'Windows of ten seconds for which there are no recordings.',
    ...(['carried', 'desk', 'emulator'] as const).flatMap((of) => [
      `### ${TITLES[of]}`,
      kinds(rows, of),
    ]),
    'The simulator is in `scripts/continuity`. It generates readings from seeds, with the noise of good and cheap sensors, and passes them through `motionFeatures`.',
  ]
}

const TITLES: Record<Exclude<Class, 'limit'>, string> = {
  carried: 'Held',
  desk: 'On a desk',
  emulator: 'Readings without a phone',
}

function kinds(rows: readonly Row[], of: Class): string {
  return table(
    ACCURACY_HEAD,
    rows.filter((row) => row.of === of).map((row) => [row.kind, ...counts(row)]),
  )
}

function counts({ windows, accepted }: { windows: number; accepted: number }): string[] {
  return [String(windows), String(accepted), String(windows - accepted), percent(accepted, windows)]
}

function percent(part: number, whole: number): string {
  return String(Math.round((1_000 * part) / whole) / 10)
}

function featureRows(): string[][] {
  const members = { window_ms: SensorSignal.properties.window_ms, ...SensorFeature.properties }
  return Object.entries(members).map(([member, schema]) => {
    const { minimum, maximum } = keywordsOf(schema)
    return [`\`${member}\``, UNITS[member as keyof typeof UNITS], String(minimum), String(maximum)]
  })
}

/** The schemas are plain JSON, but their types declare only the accepted values. */
function keywordsOf(schema: object): Readonly<Record<'minimum' | 'maximum' | 'maxItems', number>> {
  return schema as Readonly<Record<'minimum' | 'maximum' | 'maxItems', number>>
}

const UNITS = {
  window_ms: 'ms, the time that the entries cover',
  t_ms: 'ms, start of the second within the window',
  acc_var: '(m/s²)², variance of acceleration',
  gyro_var: '(rad/s)², variance of the rotation rate',
  handling: 'touches and turns in this second',
} as const

function labelOf(name: string): string {
  return (
    { accVar: '`acc_var`', gyroVar: '`gyro_var`', ratio: '`acc_var` / `gyro_var`' }[name] ?? name
  )
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}
