import { randomInt } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command, Option } from 'commander'
import { jsonOption, wholeNumber } from '@bonded/cli/program/arguments'
import { fields, print, write } from '@bonded/cli/program/output'
import { type DurabilityFigures, newRootKeys, proveDurability } from './durability.ts'
import { proveQuorums, type QuorumFigures } from './quorums.ts'
import { createScratch } from './scratch.ts'

interface DurabilityFlags {
  readonly rounds: number
  readonly quorums?: number
  readonly nodes?: number
  readonly callers: number
  readonly seed?: number
  readonly postgresBin?: string
  readonly folder: string
  readonly json?: boolean
}

const MOST = { rounds: 1_000, quorums: 10_000, nodes: 16, callers: 256, seed: 2 ** 32 - 1 } as const
/** PostgreSQL serves several nodes; a SQLite file serves one. */
const NODES = { postgres: 3, sqlite: 1 } as const
/** The findings that a reader needs to see; a broken store has thousands. */
const SHOWN_FINDINGS = 20

/** `npm run prove:durability`, which an operator can repeat on their own machine. */
export function durabilityCommand(): Command {
  return new Command('npm run prove:durability --')
    .description(
      'Crash nodes and database under load, and search for acknowledged changes that are lost',
    )
    .addHelpText('after', HELP)
    .option('--rounds <number>', 'Number of crashes', wholeNumber(MOST.rounds), 10)
    .option(
      '--quorums <number>',
      'Settle so many quorums instead, and kill their backends too',
      wholeNumber(MOST.quorums),
    )
    .addOption(
      new Option('--nodes <number>', 'Number of bonded serve processes')
        .argParser(wholeNumber(MOST.nodes))
        .default(undefined, `${NODES.postgres} on PostgreSQL; SQLite allows 1`),
    )
    .option(
      '--callers <number>',
      'Clients that send requests at once',
      wholeNumber(MOST.callers),
      16,
    )
    .addOption(
      new Option('--seed <number>', 'Repeats the choices of an earlier run')
        .argParser(wholeNumber(MOST.seed))
        .default(undefined, 'a new one, which the run prints'),
    )
    .option(
      '--postgres-bin <folder>',
      'Programs of PostgreSQL (initdb, postgres); without it, SQLite',
    )
    .addOption(
      new Option('--folder <folder>', 'Where to create the scratch folder').default(
        tmpdir(),
        'the folder for temporary files',
      ),
    )
    .addOption(jsonOption())
    .action(proveOnScratch)
}

const HELP = `
The run creates its own database in a new folder, and deletes the folder after a success. It reads
no settings and never opens the database of a service. With --postgres-bin it creates a PostgreSQL
server in that folder, and also stops that server like pg_ctl stop -m immediate.

The seed decides which processes are stopped, after how many acknowledgments, and what the clients
do. The moment within a call stays up to the machine, so a seed repeats a failure often, not always.

With --quorums, two backends run an action for each quorum of three people, of whom two approve,
while one in ten of their tasks is killed. The run ends with the last quorum, and --rounds has no
effect. Each action must have run once or be listed as unknown, and none without two approvals that
were live at one moment of the 30 seconds before it began.

Exit code 1: an acknowledged change was lost, or an event was sent for what did not happen.`

async function proveOnScratch(options: DurabilityFlags, command: Command): Promise<void> {
  const { postgresBin, rounds, callers, json } = options
  const seed = options.seed ?? randomInt(1, MOST.seed)
  const nodes = options.nodes ?? (postgresBin === undefined ? NODES.sqlite : NODES.postgres)
  if (postgresBin === undefined && nodes > NODES.sqlite)
    command.error('error: a SQLite file serves one node. Omit --nodes, or set --postgres-bin.')
  const folder = mkdtempSync(join(options.folder, 'bonded-prove-'))
  const rootKeys = newRootKeys()
  await using scratch = await createScratch({ folder, rootKeys, postgresBin }).catch(
    (failure: unknown) => {
      rmSync(folder, { recursive: true, force: true })
      throw failure
    },
  )
  const show = (line: string) => json === true || write(`${line}\n`)
  const given = { scratch, folder, nodes, callers, seed, rootKeys }
  const { quorums } = options
  const figures =
    quorums === undefined
      ? await proveDurability({
          ...given,
          rounds,
          onRound: ({ round, stopped, acknowledged }) =>
            show(`round ${round} of ${rounds}: ${stopped}; ${acknowledged} acknowledged so far`),
        })
      : await proveQuorums({
          ...given,
          quorums,
          onCrash: ({ settled, stopped }) =>
            show(`${settled} of ${quorums} quorums settled: ${stopped}`),
        })
  const ok = figures.lost.length === 0 && figures.invented.length === 0
  const error = { code: 'durability_violated', message: 'The store lost or invented a change.' }
  const counts = countsOf(figures)
  const document = { ok, seed, ...counts, ...(ok ? {} : { error, folder }) }
  print({ json }, document, [...describe(counts), ...verdict(ok, folder), `Seed: ${seed}`])
  if (ok) rmSync(folder, { recursive: true, force: true })
  else process.exitCode = 1
}

/** The counts of a run, under the names that they have in JSON. */
function countsOf(figures: DurabilityFigures | QuorumFigures) {
  const { nodeKills: node_kills, serverStops: server_stops, ...others } = figures
  if (!('backendKills' in others)) return { ...others, node_kills, server_stops }
  const { backendKills: backend_kills, ...quorums } = others
  return { ...quorums, backend_kills, node_kills, server_stops }
}

function describe({ lost, invented, ...counts }: ReturnType<typeof countsOf>): readonly string[] {
  const shown = Object.entries({ ...counts, lost: lost.length, invented: invented.length })
  return [
    '',
    ...fields(
      Object.fromEntries(shown.map(([name, count]) => [name, count.toLocaleString('en-US')])),
    ),
    ...[...lost, ...invented].slice(0, SHOWN_FINDINGS).map((line) => `  ${line}`),
  ]
}

function verdict(ok: boolean, folder: string): readonly string[] {
  return ok
    ? ['', 'Nothing acknowledged was lost, and nothing was reported that did not happen.']
    : ['', `The guarantee does not hold here. The database is in ${folder}.`]
}
