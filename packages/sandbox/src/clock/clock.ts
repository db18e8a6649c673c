import { Argument, Command, InvalidArgumentError } from 'commander'
import { parseDuration } from '@bonded/cli/program/duration'
import type { Options } from '@bonded/cli/program/open'
import { fields, print } from '@bonded/cli/program/output'
import { readSandboxConfig } from '../sandbox-options.ts'
import { advanceClock } from './clock-socket.ts'

/** `bonded clock`: the clock of a sandbox that `bonded dev` runs. */
export function clockCommand(): Command {
  const command = new Command('clock').description('Read and advance the clock of a sandbox')
  command
    .command('show')
    .description('Show the time of the sandbox, and how far it is ahead of this machine')
    .action((options: Options) => ask(options, 0))
  command
    .command('advance')
    .description('Advance the clock; what becomes due happens at once. It cannot go back')
    .addArgument(
      new Argument('<time>', 'Time to advance: 90s, 5m, 24h, 7d, at most 30d').argParser(parseTime),
    )
    .action((ms: number, options: Options) => ask(options, ms))
  return command
}

async function ask(options: Options, ms: number): Promise<void> {
  const { dataDir } = readSandboxConfig('clock', options)
  const reading = await advanceClock(dataDir, ms)
  print(options, reading, fields(reading))
}

function parseTime(text: string): number {
  const ms = parseDuration(text)
  if (ms === 0) throw new InvalidArgumentError('Expected a time such as 90s, 5m, 24h or 7d.')
  return ms
}
