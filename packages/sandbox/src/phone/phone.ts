import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createSimulatedPhone,
  describeRequest,
  type HandoffInput,
  type Outcome,
  PHONE_FORMATS,
  type PhoneFormat,
  type SimulatedPhone,
  type SimulatedPhoneOptions,
  loadTestAuthority,
  findTestRoots,
} from '@bonded/simulator'
import { Command, Option } from 'commander'
import type { SettingFlags } from '@bonded/server/settings/config'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { describeRejection, describeRun } from './describe-run.ts'
import { fields, print, write } from '@bonded/cli/program/output'
import { originOption, readSandboxConfig } from '../sandbox-options.ts'
import { inboxCommand } from './phone-inbox.ts'
import { keyCommands, type PhoneOptions } from './phone-keys.ts'

interface RunOptions extends PhoneOptions {
  readonly qr: string
  readonly as?: Outcome
  readonly wait: boolean
}

/**
 * A command of the phone. `variants` are what `--as` accepts: none of them contradicts the verb.
 */
interface Run {
  readonly verb: 'approve' | 'decline'
  readonly description: string
  readonly variants: Readonly<Partial<Record<Outcome, string>>>
}

const RUNS: readonly Run[] = [
  {
    verb: 'approve',
    description: 'Scan a QR code, show the request and approve it',
    variants: {
      approve: 'Approve with strong evidence',
      'step-up': 'Approve with weak evidence first, then answer the step-up',
      replay: 'Approve, then send the same assertion again',
      'stale-counter': 'Approve with a counter that did not increase',
      'other-device': 'Claim the session, then try to claim it from another device',
    },
  },
  {
    verb: 'decline',
    description: 'Scan a QR code, show the request and decline it',
    variants: {
      decline: 'Decline the request',
      'not-me': 'Decline, and report that the user did not start the request',
    },
  },
]

/** `bonded phone`: a phone with real keys, which are stored in the data folder. */
export function phoneCommand(): Command {
  const command = new Command('phone').description('Simulate a phone with real keys')
  command
    .command('register')
    .description('Register the key of the simulated phone with a service')
    .addOption(originOption())
    .addOption(
      new Option('--format <format>', 'Format of the key; changing it creates a new key').choices(
        PHONE_FORMATS,
      ),
    )
    .action(async (options: PhoneOptions & { format?: PhoneFormat }) => {
      const { device_id, subject_id, format } = await phoneAt(options).register()
      const document = { device_id, subject_id, format }
      print(options, document, fields(document))
    })
  for (const run of RUNS) command.addCommand(runCommand(run))
  command.addCommand(inboxCommand(phoneAt, (handoff, options) => play(handoff, 'approve', options)))
  for (const keyCommand of keyCommands(phoneAt))
    command.addCommand(keyCommand.addOption(originOption()))
  return command
}

function runCommand({ verb, description, variants }: Run): Command {
  const names = Object.keys(variants)
  const width = Math.max(...names.map(({ length }) => length))
  const lines = Object.entries(variants).map(([name, does]) => `  ${name.padEnd(width)}  ${does}`)
  return new Command(verb)
    .description(description)
    .addHelpText('after', `\nVariants:\n${lines.join('\n')}`)
    .requiredOption('--qr <payload>', 'Content of the QR code, its link, or a PNG or SVG file')
    .addOption(
      new Option('--as <variant>', 'Behave as one of the variants below')
        .choices(names)
        .default(undefined, verb),
    )
    .addOption(originOption())
    .option('--no-wait', 'Exit without waiting for the backend to complete the session')
    .action((options: RunOptions) => play(handoffOf(options.qr), options.as ?? verb, options))
}

/** Shows a request, answers it, and prints what came of it. */
async function play(
  handoff: HandoffInput,
  outcome: Outcome,
  options: PhoneOptions & { readonly wait: boolean },
): Promise<void> {
  const result = await phoneAt(options).run(handoff, outcome, {
    waitForCompletion: options.wait,
    onShow: (session) => void (options.json !== true && write(`${describeRequest(session)}\n\n`)),
  })
  const { rejection } = result
  const error = rejection && { code: rejection.code, message: describeRejection(rejection) }
  print(options, { ...result, ...(error && { error }) }, describeRun(result))
  if (error !== undefined) process.exitCode = 1
}

/**
 * Opens the phone whose keys are in `folder`, by default the data folder. With a service that
 * trusts the data folder's test roots it is an iPhone unless the options name another format.
 */
export function phoneAt(
  options: SettingFlags & {
    readonly origin?: string
    readonly format?: PhoneFormat
    readonly folder?: string
    readonly createBrowserKey?: SimulatedPhoneOptions['createBrowserKey']
  },
): SimulatedPhone {
  const { publicOrigin, dataDir } = readSandboxConfig('phone', options)
  const { origin, format, folder = dataDir, createBrowserKey } = options
  // Even where no service runs yet: it may be started with these roots next.
  if (format !== undefined && format !== 'software') loadTestAuthority(dataDir)
  const besideItsService = origin === undefined && findTestRoots(dataDir) !== undefined
  return createSimulatedPhone({
    origin: origin ?? publicOrigin,
    stateFile: join(folder, 'phone.json'),
    authorityFolder: dataDir,
    format,
    ...(createBrowserKey && { createBrowserKey }),
    formatOfNewKeys: besideItsService ? 'apple-app-attest' : 'software',
  })
}

function handoffOf(text: string): HandoffInput {
  if (/^[a-z][a-z0-9+.-]*:/.test(text)) return text
  if (!existsSync(text))
    throw new OperatorError(`${text} is not a QR code payload, a link or an existing file`, {
      code: 'invalid',
    })
  const bytes = readFileSync(text)
  return text.endsWith('.svg') ? bytes.toString('utf8') : bytes
}
