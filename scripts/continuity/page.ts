import { MIN_CONTINUITY_SCORE } from '@bonded/contract'
import { SensorFeature, SensorSignal } from '../../packages/contract/src/schemas/evidence.ts'
import {
  CARRIED_SECOND,
  CONTINUITY_FACTORS,
  CONTINUITY_MODEL,
  MAX_GAP_MS,
  MIN_CARRIED_SECONDS,
} from '../../packages/service/src/domain/continuity.ts'
import {
  REPETITION_THRESHOLD,
  SECONDS_PER_FINGERPRINT,
  MAX_STORED_WINDOWS,
} from '../../packages/service/src/domain/motion-memory.ts'
import { LONG_LIVED_DECAY } from '../../packages/service/src/domain/scoring.ts'
import { type Class, confusion, HALVES, type Row, total } from './confusion.ts'

/**
 * The page about the continuity model: its numbers from the code, its error rates from simulated
 * windows.
 */
export function continuityPage(): string {
  const rows = confusion(HALVES.heldOut)
  return [
    `# Sensor continuity (model \`${CONTINUITY_MODEL}\`)`,
    'The score `sensor_continuity.continuity_score`, 0 to 1, states how clearly a user carried the phone until the moment of approval. The service computes it from the features that the phone sends in `signals.sensor_continuity`, and discards the features after the request. Every evidence summary contains the name of the model. The name changes with any number on this page.',
    `A workflow that requires \`sensor_continuity\` demands ${MIN_CONTINUITY_SCORE} or more. Below that score the integrator library sends a bond to review.`,
    '## Sensor features',
    table(['member', 'unit', 'minimum', 'maximum'], featureRows()),
    `The phone sends one entry per second, at most ${keywordsOf(SensorSignal.properties.features).maxItems}, oldest first. \`motionFeatures\` of \`@bonded/phone\` computes them from the sensor readings of the last minute. A variance is the sum of the variances of the three axes over the readings of the second. Acceleration includes gravity. The seconds are aligned so that the strongest jolt of the recording is in the middle of one. The same movement, played into the sensors again, therefore gives the same seconds. \`handling\` counts touches of the screen, plus one if the phone turned by over 35 degrees within the second. A second with fewer than ten readings, or with a mean acceleration that a phone near the ground cannot have, has no entry.`,
    'The service rejects a request with a number outside the bounds. If entries are out of order or beyond the window, the score is 0.',
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
    `A second covers the time until the next one, but at most ${MAX_GAP_MS} ms. From \`variety\` on, the factors use carried seconds only. Three limits follow from the product. Without touches the score is at most 0.5. A window of 15 seconds also scores at most 0.5. The score is at most twice the share of carried seconds.`,
    '## Repetition',
    `The service stores fingerprints of each window that scores ${MIN_CONTINUITY_SCORE} or more. For each ${SECONDS_PER_FINGERPRINT} consecutive seconds, a fingerprint is a keyed hash of their order by variance. The hashes do not reveal how the phone moved. The service stores the last ${MAX_STORED_WINDOWS} windows of a device until the device is removed. A window is a repetition if ${REPETITION_THRESHOLD * 100} % or more of its fingerprints match one stored window. The score is then 0, \`motion_present\` is false, and the timeline has the note \`motion_repeated\`. The service ignores stored windows of the last two minutes plus the length of the window, because honest windows overlap.`,
    '## Simulated accuracy',
    `These windows are simulated, with other seeds than those used to choose the numbers above. Accepted means a score of ${MIN_CONTINUITY_SCORE} or more.`,
    table(
      ['', 'windows', 'accepted', 'not accepted', 'accepted, in %'],
      (['carried', 'desk', 'replay', 'emulator'] as const).map((of) => [
        `**${of}**`,
        ...counts(total(rows, of)),
      ]),
    ),
    ...(['carried', 'desk', 'replay', 'emulator'] as const).flatMap((of) => [
      `### ${TITLES[of]}`,
      kinds(rows, of),
    ]),
    `The simulator is in \`scripts/continuity\`. It generates 50 readings per second from seeds, with the noise of good and cheap sensors, and passes them through \`motionFeatures\`. Scripts that need no sensors write features themselves. A replay is sent to a service that received the recording three days earlier.`,
    '**These are simulations.** They show that the model separates the classes it was designed for. The rate at which it rejects real users must be measured with real phones.',
    '## Limitations',
    'Consider these cases before a policy relies on the score:',
    kinds(rows, 'between'),
    [
      'A script whose author has read this page passes. The phone reports the features itself. With an attested key, an unchanged app on a real phone reports them, and a script must then feed the sensors below that app. Continuity is one signal among several, and is weighted as one.',
      'The service recognizes a replay only from the phone that sent the original. It does not recognize a recording of another phone, one older than the last eight windows, one that was never sent, or one with large changes (10 % in every second, stretched in time, reassembled).',
      'The model cannot identify who carries the phone, for example a thief.',
      'A phone from a desk counts as carried after a user has held it for about a third of the minute. A phone in a moving car counts as carried. The model rejects a user who sits very still, or who uses the phone while it lies on a surface.',
      'Removing a root key makes the fingerprints under it useless.',
    ]
      .map((line) => `- ${line}`)
      .join('\n'),
    '## Long-term score',
    `\`continuity_score_long_lived\` is an exponentially weighted mean over a device’s bonds with one tenant. It starts with the first bond’s score, and each later bond moves it ${LONG_LIVED_DECAY} of the way toward its own score. A bond without sensors counts as 0. Bonds with other tenants do not count.`,
  ].join('\n\n')
}

const TITLES: Record<Exclude<Class, 'between'>, string> = {
  carried: 'Carried',
  desk: 'On a desk',
  replay: 'Replays',
  emulator: 'Emulators and scripts',
}

function kinds(rows: readonly Row[], of: Class): string {
  return table(
    ['', 'windows', 'accepted', 'not accepted', 'accepted, in %'],
    rows.filter((row) => row.of === of).map((row) => [row.kind, ...counts(row)]),
  )
}

function counts({ windows, accepted }: { windows: number; accepted: number }): string[] {
  return [windows, accepted, windows - accepted, Math.round((1_000 * accepted) / windows) / 10].map(
    String,
  )
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
