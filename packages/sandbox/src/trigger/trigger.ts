import { setTimeout as delay } from 'node:timers/promises'
import { EVENT_TYPES, type EventType, parseId } from '@bonded/contract'
import { findTestRoots } from '@bonded/simulator'
import { Argument, Command, Option } from 'commander'
import { listEndpoints } from '@bonded/core/operations/admin/webhooks'
import type { Service } from '@bonded/core/operations/service'
import { type Options, withService } from '@bonded/cli/program/open'
import { fields, print } from '@bonded/cli/program/output'
import { storedClock } from '../clock/sandbox-clock.ts'
import { readCredential } from '../backend.ts'
import { originOption, readSandboxConfig, rejectProductionTenants } from '../sandbox-options.ts'
import { causeEvent, WANTED } from './cause-event.ts'

/** How often the command reads a session whose end it awaits. */
const PAUSE_MS = 1_000

interface TriggerOptions extends Options {
  readonly reason?: string
  readonly workflow?: string
  readonly origin?: string
}

/** `bonded trigger`: causes an event by real calls to a running sandbox. */
export function triggerCommand(): Command {
  const reasons = EVENT_TYPES.flatMap((type) => {
    const names = WANTED.flatMap((wanted) => (wanted.type === type ? (wanted.reason ?? []) : []))
    return names.length === 0 ? [] : [`  ${type}: ${names.join(', ')}`]
  })
  return new Command('trigger')
    .description('Cause an event of a sandbox tenant by real calls, with a simulated phone')
    .addArgument(new Argument('<event>', 'Event to cause').choices(EVENT_TYPES))
    .addHelpText(
      'after',
      `\nReasons:\n${reasons.join('\n')}\n\nThe tenant is that of the server credential in BONDED_SERVER_CREDENTIAL.`,
    )
    .addOption(
      new Option('--reason <reason>', 'Reason of the event').default(undefined, 'the first below'),
    )
    .addOption(
      new Option('--workflow <name>', 'Workflow of the session').default(
        undefined,
        'the first that a new phone can meet',
      ),
    )
    .addOption(originOption())
    .action(trigger)
}

async function trigger(type: EventType, options: TriggerOptions): Promise<void> {
  const credential = readCredential()
  const { publicOrigin, dataDir } = readSandboxConfig('trigger', options)
  if (type === 'session.expired' && options.json !== true)
    process.stderr.write('Waiting until the session expires.\n')
  const cause = async (service: Service) => {
    await rejectProductionTenants(service)
    const caused = await causeEvent(
      { type, reason: options.reason },
      {
        service,
        origin: options.origin ?? publicOrigin,
        credential,
        workflow: options.workflow,
        authorityFolder: findTestRoots(dataDir) === undefined ? undefined : dataDir,
        pause: () => delay(PAUSE_MS),
      },
    )
    const tenantId = parseId('ten', caused.tenant_id)
    return { caused, endpoints: tenantId ? await listEndpoints(service, tenantId) : [] }
  }
  const { caused, endpoints } = await withService(options, cause, { clock: storedClock(dataDir) })
  print(options, { ...caused, endpoints: endpoints.length }, [
    ...fields(caused),
    ...(endpoints.length === 0
      ? ['', 'The tenant has no webhook endpoint, so the service sends no event.']
      : []),
  ])
}
