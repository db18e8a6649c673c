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

/** The page about the continuity model: its numbers from the code, its mistakes from simulated windows. */
export function continuityPage(): string {
  const rows = confusion(HALVES.heldOut)
  return [
    `# Sensor continuity (model \`${CONTINUITY_MODEL}\`)`,
    'How plainly a phone was carried by a person until just now: `sensor_continuity.continuity_score`, 0 to 1. The service scores it from what the phone sends in `signals.sensor_continuity`; the phone’s own opinion is never asked. The features are dropped with the request. The name of the model stands in every evidence summary and changes with any number on this page.',
    `A workflow that requires \`sensor_continuity\` asks for ${MIN_CONTINUITY_SCORE} or more. So does the rule by which an integrator sends a bond to review.`,
    '## What the phone sends',
    table(['member', 'unit', 'from', 'to'], featureRows()),
    `One entry a second, at most ${keywordsOf(SensorSignal.properties.features).maxItems}, oldest first. \`motionFeatures\` of \`@bonded/phone\` makes them from readings of the sensors, for the last minute. A variance is that of the three axes added up, over the second’s readings; acceleration includes gravity. Seconds are cut so that the strongest jolt of the recording lies in the middle of one: played into the sensors again, the same movement gives the same seconds. \`handling\` counts touches of the screen, and one more where the phone was turned by over 35 degrees within the second. Seconds with fewer than ten readings, or whose mean acceleration is not that of a phone near the ground, get no entry.`,
    'A number outside the bounds is refused with the request. Entries that are out of order or beyond the window make all of it no evidence: 0.',
    '## What counts as a carried second',
    table(
      ['of the second', 'above', 'below'],
      Object.entries(CARRIED_SECOND).map(([name, { above, below }]) => [
        labelOf(name),
        String(above),
        String(below),
      ]),
    ),
    `Fewer than ${MIN_CARRIED_SECONDS} carried seconds score 0. \`motion_present\` says whether there was one.`,
    '## The score',
    'The product of these factors. Each is 0 at *none*, 1 at *full*, and in between in proportion; so each can only lower the score. Rounded down to four decimals.',
    table(
      ['factor', 'measure', 'none', 'full'],
      Object.entries(CONTINUITY_FACTORS).map(([name, { measure, none, full }]) => [
        name,
        measure,
        String(none),
        String(full),
      ]),
    ),
    `A second vouches for the time until the next one, for ${MAX_GAP_MS} ms at most. From \`variety\` on, the factors look at carried seconds only. What follows from the product: without touches the score is never above 0.5, nor is that of a window of 15 seconds, and it is never above twice the share of carried seconds.`,
    '## What was sent before',
    `A window that scores ${MIN_CONTINUITY_SCORE} or more is remembered with the phone’s key: for each ${SECONDS_PER_FINGERPRINT} seconds in a row a keyed hash of which were calmer than which. The last ${MAX_STORED_WINDOWS} windows are kept until the device is removed. The hashes do not tell how the phone was moved. Where ${REPETITION_THRESHOLD * 100} % or more of a window’s hashes are those of one remembered window, it is a repetition: the score is 0, \`motion_present\` is false, and the timeline has the note \`motion_repeated\`. Windows of the last two minutes and the window’s own length are not held against a phone, because honest ones overlap; who repeats one of those has carried the phone just now.`,
    '## How often it is right',
    `Simulated windows, from other seeds than those that the numbers above were chosen on. Accepted means a score of ${MIN_CONTINUITY_SCORE} or more.`,
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
    `The simulator is in \`scripts/continuity\`: bodies, desks and scripts from seeds. Readings come 50 times a second, with the noise of good and cheap sensors, and pass through \`motionFeatures\`; scripts that need no sensors write features themselves. A replay is judged by a service that was sent the recording three days before.`,
    '**These are simulations.** They show that the model tells apart what it was made to tell apart. How often real people are turned away has to be measured with real phones.',
    '## Where it ends',
    'Neither right nor wrong, but good to know before a policy relies on it:',
    kinds(rows, 'between'),
    [
      'A script whose author has read this page passes. The features are the phone’s word; an attested key makes it the word of an unchanged app on a real phone, and a script then has to feed the sensors below that app. Continuity is one proof of several, and weighs as one.',
      'A replay is known by the phone that sent it. A recording of another phone, one that is older than the last eight windows, one that was never sent, or one that was changed a lot (by 10 % in every second, stretched in time, put together anew) is not recognised.',
      'It cannot tell who carries the phone. A thief walks like anybody.',
      'A phone that lay on a desk counts as carried once somebody has held it for about a third of the minute; one in a moving car looks carried, because it is. A person who sits very still, or who uses the phone as it lies, is turned away.',
      'Hashes made under a root key that is gone are forgotten with it.',
    ]
      .map((line) => `- ${line}`)
      .join('\n'),
    '## In the long run',
    `\`continuity_score_long_lived\` is a decayed mean over a device’s bonds with one tenant: the first bond’s score, then each time ${LONG_LIVED_DECAY} of the way from there to the newest. A bond without sensors counts as 0. What a phone showed one tenant counts nothing at another.`,
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

/** The schemas are plain JSON; their types say what they accept. */
function keywordsOf(schema: object): Readonly<Record<'minimum' | 'maximum' | 'maxItems', number>> {
  return schema as Readonly<Record<'minimum' | 'maximum' | 'maxItems', number>>
}

const UNITS = {
  window_ms: 'ms, how much time the entries are about',
  t_ms: 'ms, where the second begins within the window',
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
