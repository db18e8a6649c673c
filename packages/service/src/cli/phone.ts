import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createSimulatedPhone,
  describeRequest,
  type HandoffInput,
  OUTCOMES,
  type Outcome,
  PHONE_FORMATS,
  type PhoneFormat,
  type RunResult,
  type SimulatedPhone,
  testAuthorityIn,
  testRootsIn,
} from '@bonded/simulator'
import { Command, Option } from 'commander'
import { readConfig, type SettingFlags } from '../config.ts'
import { OperatorError } from '../operations/admin/tenants.ts'
import { type Options, print } from './open.ts'

interface RunOptions extends Options {
  readonly qr: string
  readonly as?: Outcome
  readonly origin?: string
  readonly wait: boolean
}

/** `bonded phone`: a phone with real keys, against any service. Its keys are kept in the data folder. */
export function phoneCommand(): Command {
  const command = new Command('phone').description(
    'A simulated phone with real keys, against any service.',
  )
  command
    .command('register')
    .description('Registers the phone’s key with a service.')
    .option('--origin <origin>', 'the service; by default the configured one')
    .addOption(
      new Option(
        '--format <format>',
        'what kind of key; a phone that had another gets a new one',
      ).choices([...PHONE_FORMATS]),
    )
    .option('--json', 'print JSON')
    .action(async (options: Options & { origin?: string; format?: PhoneFormat }) => {
      const { device_id, subject_id, format } = await phoneAt(options).register()
      print(options, { device_id, subject_id, format }, [
        `registered ${device_id} (${format}) for ${subject_id}`,
      ])
    })
  addRun(command, {
    name: 'approve',
    outcome: 'approve',
    description: 'Scans a code, shows what is asked, and approves it.',
  })
  addRun(command, { name: 'decline', outcome: 'decline', description: 'Scans a code and says no.' })
  return command
}

function addRun(
  parent: Command,
  { name, outcome, description }: { name: string; outcome: Outcome; description: string },
): void {
  parent
    .command(name)
    .description(description)
    .requiredOption('--qr <payload>', 'what the code says, its link, or a PNG or SVG file of it')
    .addOption(new Option('--as <outcome>', 'what the phone does instead').choices([...OUTCOMES]))
    .option('--origin <origin>', 'the service of an app payload; by default the configured one')
    .option('--no-wait', 'do not stay until the action is completed')
    .option('--json', 'print JSON')
    .action(async (options: RunOptions) => {
      const result = await phoneAt(options).run(handoffOf(options.qr), options.as ?? outcome, {
        waitForCompletion: options.wait,
        onShow: (session) =>
          void (options.json !== true && process.stdout.write(`${describeRequest(session)}\n\n`)),
      })
      print(options, result, [tell(result)])
      if (result.refusal !== undefined) process.exitCode = 1
    })
}

/** How a run went, in a sentence. */
export function tell({ state, refusal, completed }: RunResult): string {
  if (refusal !== undefined) return `The service refused: ${refusal.reason ?? refusal.code}.`
  if (completed) return 'Approved, and the action is done.'
  return state === 'bonded'
    ? 'Approved. The session is bonded.'
    : `The session is ${state ?? 'unknown'}.`
}

/**
 * The phone whose keys lie in the data folder. Beside a service that trusts the folder's test roots it is an iPhone
 * unless it is told otherwise.
 */
export function phoneAt(
  options: SettingFlags & { readonly origin?: string; readonly format?: PhoneFormat },
): SimulatedPhone {
  const { publicOrigin, dataDir } = readConfig(process.env, options)
  const { origin, format } = options
  // Also where the service cannot be asked yet: it may be started with these roots next.
  if (format !== undefined && format !== 'software') testAuthorityIn(dataDir)
  const besideItsService = origin === undefined && testRootsIn(dataDir) !== undefined
  return createSimulatedPhone({
    origin: origin ?? publicOrigin,
    stateFile: join(dataDir, 'phone.json'),
    authorityFolder: dataDir,
    format,
    formatOfNewKeys: besideItsService ? 'apple-app-attest' : 'software',
  })
}

function handoffOf(text: string): HandoffInput {
  if (/^[a-z][a-z0-9+.-]*:/.test(text)) return text
  if (!existsSync(text)) throw new OperatorError(`${text} is neither a payload, a link, nor a file`)
  const bytes = readFileSync(text)
  return text.endsWith('.svg') ? bytes.toString('utf8') : bytes
}
