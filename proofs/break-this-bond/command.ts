import { Command } from 'commander'
import { jsonOption, wholeNumber } from '@bonded/cli/program/arguments'
import { print, table } from '@bonded/cli/program/output'
import { seeded } from '../../tests/seeded.ts'
import { writePage } from './build.ts'
import { loadGame, proveLevel } from './prove-game.ts'
import { record } from './record.ts'

const MOST_GAMES = 10_000_000
const MOST_SEED = 2 ** 32 - 1

interface GameFlags {
  readonly games: number
  readonly seed: number
  readonly page?: string
  readonly record?: string
  readonly json?: boolean
}

/** `npm run prove:game`. */
export function gameCommand(): Command {
  return new Command('npm run prove:game --')
    .description('Play random games of every level with all guards, and without its own guard')
    .addHelpText('after', HELP)
    .option(
      '--games <number>',
      'Games of a level with all guards',
      wholeNumber(MOST_GAMES),
      100_000,
    )
    .option('--seed <number>', 'Seed of the moves', wholeNumber(MOST_SEED), 20_261_126)
    .option('--page <folder>', 'Write the page into a folder, and play nothing')
    .option('--record <folder>', 'Write a picture of each level, won and lost, into a folder')
    .addOption(jsonOption())
    .action(run)
}

const HELP = `
A game has 10 random moves. REMAINS counts the games that reach what no guard prevents, which the
level names. The last lines have every guard without which alone a search wins: rows overlap.

Exit code 1: a level was won with all guards, was not won without its own, or a game reached what
the level does not say remains.`

async function run({ games, seed, page, record: pictures, json }: GameFlags): Promise<void> {
  if (pictures !== undefined) {
    await record(pictures, (await loadGame()).LEVELS)
    print({ json }, { ok: true, record: pictures }, [`Wrote the pictures into ${pictures}.`])
    return
  }
  if (page !== undefined) {
    await writePage(page, (await loadGame()).LEVELS)
    print({ json }, { ok: true, page }, [`Wrote the page. Serve ${page} with any file server.`])
    return
  }
  const drawFor = (name: string) => {
    let mixed = seed
    for (const char of name) mixed = Math.imul(mixed ^ (char.codePointAt(0) ?? 0), 0x01000193)
    return seeded(mixed)
  }
  const figures = []
  for (const level of (await loadGame()).LEVELS)
    figures.push(await proveLevel(level, { games, drawFor }))
  const findings = figures.flatMap((each) => each.findings)
  const levels = figures.map(({ level, smallest, ...found }) => ({
    id: level.id,
    title: level.title,
    guard: level.guard.name,
    with: found.with.games,
    without: found.without.win ?? null,
    smallest_sets: smallest.map(({ file, name }) => [`${file} ${name}`]),
  }))
  const rows = levels.map((level) => ({
    '#': String(level.id),
    level: level.title,
    won: `${level.with.won} of ${games}`,
    remains: String(level.with.remains),
    'without guard': level.guard,
    'won by': level.without?.moves.join(' ') ?? 'no game',
  }))
  const columns = ['#', 'level', 'won', 'remains', 'without guard', 'won by'] as const
  print({ json }, { ok: findings.length === 0, games, seed, levels, findings }, [
    ...table(columns, rows, 'No levels.'),
    '',
    ...levels.map(({ id, smallest_sets: sets }) => `${id} is won without ${sets.join(', or ')}`),
    ...findings,
  ])
  if (findings.length > 0) process.exitCode = 1
}
