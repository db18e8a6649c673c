import { type DeviceId, parseId, type SubjectId } from '@bonded/contract'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Device } from '../domain/session.ts'
import { OperatorError } from '../operations/admin/tenants.ts'
import {
  DEVICE_VERBS,
  type HeldDevice,
  inspectDevice,
  listDevices,
  moveDevice,
} from '../operations/admin/devices.ts'
import { type Options, print, withService } from './open.ts'

/** A screenful, and a bound on what one call prints. */
const LISTED = 50
const MOST_LISTED = 1_000
const STATUSES = [
  'active',
  'suspect',
  'blocked',
  'removed',
] as const satisfies readonly Device['status'][]

interface ListOptions extends Options {
  readonly status?: Device['status']
  readonly subject?: SubjectId
  readonly limit: number
}

/** `bonded device`: the phones' keys, of all subjects. */
export function deviceCommand(): Command {
  const command = new Command('device').description('The registered phones.')
  command
    .command('list')
    .description('Lists devices, the newest first.')
    .addOption(new Option('--status <status>', 'only those that stand so').choices([...STATUSES]))
    .option('--subject <subject>', 'only those of this subject', subjectIdOf)
    .option('--limit <number>', `at most so many, up to ${MOST_LISTED}`, limitOf, LISTED)
    .option('--json', 'print JSON')
    .action(async (options: ListOptions) => {
      const { status, subject, limit } = options
      const wanted = { limit, ...(status && { status }), ...(subject && { subjectId: subject }) }
      const devices = await withService(options, (service) => listDevices(service, wanted))
      const lines = devices.map(
        ({ id, status: stands, format, environment }) =>
          `${id}  ${stands.padEnd(8)}  ${format.padEnd(16)}  ${environment}`,
      )
      print(options, devices.map(describe), lines.length === 0 ? ['No such devices.'] : lines)
    })
  command
    .command('show <device>')
    .description('Shows a device and the sessions it holds.')
    .option('--json', 'print JSON')
    .action(async (id: string, options: Options) => {
      const held = await withService(options, (service) => inspectDevice(service, deviceIdOf(id)))
      const document = {
        ...describe(held.device),
        sessions: held.holds.map((session) => session.id),
      }
      print(
        options,
        document,
        Object.entries(document).map(
          ([name, value]) =>
            `${name.padEnd(17)} ${Array.isArray(value) ? value.join(' ') : String(value)}`,
        ),
      )
    })
  command
    .command('timeline <device>')
    .description('Shows what became of a device.')
    .option('--json', 'print JSON')
    .action(async (id: string, options: Options) => {
      const { events } = await withService(options, (service) =>
        inspectDevice(service, deviceIdOf(id)),
      )
      const entries = events.map(({ at, requestId, ...event }) => ({
        at: new Date(at).toISOString(),
        ...event,
        request_id: requestId,
      }))
      const line = ({ at, seq, kind, step, request_id }: (typeof entries)[number]) => [
        at,
        String(seq).padStart(3),
        kind,
        step && `(${step})`,
        request_id,
      ]
      print(
        options,
        entries,
        entries.map((entry) =>
          line(entry)
            .filter((part) => part !== null)
            .join('  '),
        ),
      )
    })
  addVerb(command, 'block', 'Blocks a device: its next call is refused.')
  addVerb(command, 'unblock', 'Lets a blocked or suspect device serve again.')
  addVerb(command, 'remove', 'Removes a device for good: its key and its token stop working.')
  return command
}

function addVerb(parent: Command, verb: keyof typeof DEVICE_VERBS, description: string): void {
  parent
    .command(`${verb} <device>`)
    .description(description)
    .option('--json', 'print JSON')
    .action(async (id: string, options: Options) => {
      const { device, holds } = await withService(options, (service) =>
        moveDevice(service, deviceIdOf(id), verb),
      )
      const stopped = verb !== 'unblock'
      print(
        options,
        {
          device_id: device.id,
          status: device.status,
          sessions: holds.map((session) => session.id),
        },
        [`${DEVICE_VERBS[verb]} ${device.id}`, ...(stopped ? whatItHolds(holds) : [])],
      )
    })
}

function whatItHolds(holds: HeldDevice['holds']): readonly string[] {
  if (holds.length === 0) return []
  return [
    'It holds sessions that live on until they end by themselves:',
    ...holds.map(({ id }) => `  bonded session kill ${id}   ends it now`),
  ]
}

function describe(device: Device) {
  const at = (instant: number | null) => (instant === null ? null : new Date(instant).toISOString())
  return {
    device_id: device.id,
    subject_id: device.subjectId,
    status: device.status,
    format: device.format,
    environment: device.environment,
    app_id: device.appId,
    counter: device.counter,
    created_at: at(device.createdAt),
    last_assertion_at: at(device.lastIssuedAt),
  }
}

function deviceIdOf(text: string): DeviceId {
  const id = parseId('dev', text)
  if (id === undefined)
    throw new OperatorError(`${text} is not a device's id: dev_ and 22 characters`)
  return id
}

function subjectIdOf(text: string): SubjectId {
  const id = parseId('sub', text)
  if (id === undefined)
    throw new InvalidArgumentError('Expected a subject’s id: sub_ and 22 characters.')
  return id
}

function limitOf(text: string): number {
  const limit = Number(text)
  if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LISTED)
    throw new InvalidArgumentError(`Expected a number from 1 to ${MOST_LISTED}.`)
  return limit
}
