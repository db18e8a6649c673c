import { mkdirSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { GateError } from '@bonded/integrator'
import {
  ApprovalError,
  type ApprovalStatus,
  createApprovals,
  NotStarted,
  sqliteApprovalStore,
} from '@bonded/integrator/approval'
import { Command, Option } from 'commander'
import { jsonOption } from '../program/arguments.ts'
import { explain } from '../program/explain.ts'
import { accountName } from '../program/operator.ts'
import { type DescribedCommand, describeCommand } from './described-command.ts'
import { NotRun, type NotRunCode } from './not-run.ts'
import { exitCodeOfSignal, RunningCommand } from './running-command.ts'

const DESCRIPTION =
  'Does not stop a party that has the server credential or this shell. Runs a command once, after the user has approved exactly these words and this folder on the phone.'
const HELP = `
BONDED_ORIGIN is the origin of the service, BONDED_SERVER_CREDENTIAL the server credential of the
tenant, and BONDED_SUBJECT the subject_ref of the user who approves.

The command runs without a shell, with an empty standard input, and with no variables but those of
--env. The phone shows its words, its folder, the values of its variables, and its program with the
SHA-256 of the file. Files that the program loads are not covered.

It ends with the exit code of the command, or 128 and the number of the signal that ended it. These
are its own: 123 declined, 124 not answered in time, 125 not run for another reason.`

/** Wide enough for most paths. The text of the request has all of a longer one. */
const MAX_SHOWN = 200
const ENDS: Readonly<Partial<Record<ApprovalStatus, readonly [NotRunCode, string]>>> = {
  declined: ['approval_declined', 'The user declined on the phone.'],
  reported: ['approval_declined', 'The user reported that they did not expect this request.'],
  expired: ['approval_expired', 'The request ended before the user answered. Run it again.'],
}

interface ApproveOptions {
  readonly env: readonly string[]
  readonly workflow: string
  readonly store?: string | undefined
}

/** `bonded approve`: a command of a shell that runs after an approval. */
export function approveCommand(): Command {
  return new Command('approve')
    .summary('Run a command once, after the user has approved it on the phone')
    .description(DESCRIPTION)
    .usage('[options] -- <command...>')
    .argument('<command...>', 'Program and its arguments')
    .addOption(
      new Option('--env <name>', 'Variable that the command gets (repeatable)')
        .argParser((name, names: readonly string[]) => [...names, name])
        .default([], 'none'),
    )
    .addOption(
      new Option(
        '--workflow <name>',
        'Workflow with the preset agent and the action run_command',
      ).default('agent_commands', 'agent_commands'),
    )
    .addOption(
      new Option('--store <file>', 'SQLite file of the approvals').default(
        undefined,
        '~/.bonded/approvals.db',
      ),
    )
    .addOption(jsonOption('Print a failure as JSON'))
    .addHelpText('after', HELP)
    .action(async (words: readonly string[], options: ApproveOptions) => {
      const running = new RunningCommand()
      try {
        process.exitCode = await approved(words, options, running)
      } catch (failure) {
        if (running.received === undefined) throw notRun(failure)
        process.stderr.write('The request was withdrawn. The command did not run.\n')
        process.exitCode = exitCodeOfSignal(running.received)
      }
    })
}

/** Asks, waits, and runs the command. Resolves to its exit code. */
async function approved(
  words: readonly string[],
  { env, workflow, store }: ApproveOptions,
  running: RunningCommand,
): Promise<number> {
  const args = await describeCommand(words, env)
  const approvals = approvalsOf({ workflow, store }, running.stopped)
  await approvals.reconcile()
  const owner = `${accountName()}@${hostname()}`
  const requester = { kind: 'person', name: accountName(), detail: hostname() } as const
  const subjectRef = process.env['BONDED_SUBJECT'] ?? ''
  const { id, inboxUrl } = await approvals.request({ owner, subjectRef, requester, args })
  try {
    process.stderr.write(`Approve in the inbox of the phone: ${inboxUrl}\n`)
    const status = await approvals.wait({ id, owner }, { signal: running.stopped })
    const end = ENDS[status]
    if (end !== undefined) throw new NotRun(...end)
    return await approvals.execute({ id, owner, args }, async (approved) => {
      if (!isDeepStrictEqual(await describeCommand(words, env), approved))
        throw new NotStarted('The program, the folder or a variable changed after the request.')
      return running.run(approved)
    })
  } catch (failure) {
    // Without the service, the phone may still show it, and the store lets it run no more.
    await approvals.withdraw({ id, owner }).catch(() => {})
    throw failure
  }
}

function approvalsOf(
  { workflow, store }: Pick<ApproveOptions, 'workflow' | 'store'>,
  stopped: AbortSignal,
) {
  const file = store ?? join(homedir(), '.bonded', 'approvals.db')
  // A row has a secret of its session.
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  return createApprovals<DescribedCommand>({
    service: {
      baseUrl: process.env['BONDED_ORIGIN'],
      serverCredential: process.env['BONDED_SERVER_CREDENTIAL'],
      // A stopped process must not live on for a pause between two attempts.
      clock: {
        now: Date.now,
        sleep: (ms) => delay(ms, undefined, { signal: stopped }),
        timeout: (ms) => AbortSignal.timeout(ms),
      },
    },
    store: sqliteApprovalStore(new DatabaseSync(file)),
    workflow,
    action: 'run_command',
    version: '1',
    describe: ({ program, folder }) => [
      { label: 'Program', value: shown(program.file) },
      { label: 'Folder', value: shown(folder) },
    ],
  })
}

/** The end of a long path: it names the file. */
function shown(path: string): string {
  const characters = Array.from(path)
  return characters.length <= MAX_SHOWN ? path : `…${characters.slice(-MAX_SHOWN).join('')}`
}

function notRun(failure: unknown): NotRun {
  if (failure instanceof NotRun) return failure
  const { message } = failure instanceof NotStarted ? failure : explain(failure)
  const isOurs = failure instanceof GateError || failure instanceof ApprovalError
  const text = isOurs ? `${failure.message} ${failure.remedy}` : message
  return new NotRun('not_run', text, { cause: failure })
}
