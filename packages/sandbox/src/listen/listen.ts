import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '@bonded/integrator'
import { Command, InvalidArgumentError, Option } from 'commander'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { jsonOption } from '@bonded/cli/program/arguments'
import type { Options } from '@bonded/cli/program/open'
import { printLine, written } from '@bonded/cli/program/output'
import { createBackend, readCredential } from '../backend.ts'
import { type Forwarded, Forwarder } from './forwarder.ts'
import { listeningSecret } from './listening-secret.ts'
import { originOption, readSandboxConfig } from '../sandbox-options.ts'

/** Soon enough for a developer who waits, and seldom enough for the limits of a backend. */
const PAUSE_MS = 1_000

interface ListenOptions extends Options {
  readonly forwardTo: string
  readonly origin?: string
}

/** `bonded listen`: sends the events of a sandbox tenant to a receiver on this machine. */
export function listenCommand(): Command {
  return new Command('listen')
    .description('Forward the events of a tenant to a receiver on this machine')
    .addHelpText(
      'after',
      '\nThe tenant is that of the server credential in BONDED_SERVER_CREDENTIAL.',
    )
    .addOption(
      new Option('--forward-to <url>', 'URL of the receiver')
        .argParser(parseUrl)
        .makeOptionMandatory(),
    )
    .addOption(originOption())
    .addOption(jsonOption('Print a JSON document for each event'))
    .action(listen)
}

async function listen(options: ListenOptions): Promise<void> {
  const credential = readCredential()
  const { publicOrigin, dataDir } = readSandboxConfig('listen', options)
  const secret = listeningSecret(dataDir)
  const call = createBackend(options.origin ?? publicOrigin, credential)
  const { forwardTo } = options
  const forwarder = await Forwarder.open({ call, forwardTo, secret, clock: systemClock })
  printLine(options, { forward_to: forwardTo, secret: secret.reveal() }, [
    `Forwarding events to ${forwardTo}`,
    `Secret of the receiver, the same at each start: ${secret.reveal()}`,
  ])
  for (;;) {
    try {
      for await (const event of forwarder.forward()) {
        printLine(options, event, [lineOf(event)])
        await written()
      }
    } catch (failure) {
      // The service may be restarting.
      if (!(failure instanceof OperatorError) || failure.code === 'output_lost') throw failure
      process.stderr.write(`${failure.message}. Trying again.\n`)
    }
    await delay(PAUSE_MS)
  }
}

function lineOf({ event_id, type, status }: Forwarded): string {
  return `${type}  ${event_id}  ${status ?? 'no response'}`
}

function parseUrl(text: string): string {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new InvalidArgumentError('Expected an http or https URL.')
  return url.href
}
