import type { DeviceId, SubjectId } from '@bonded/contract'
import { Command, Option } from 'commander'
import type { Device } from '@bonded/core/domain/session'
import {
  DEVICE_VERBS,
  type HeldDevice,
  inspectDevice,
  listDevices,
  moveDevice,
} from '@bonded/core/operations/admin/devices'
import { findSubjectId } from '@bonded/core/operations/admin/subjects'
import { deviceArgument, limitOption, parseSubjectId } from '../program/arguments.ts'
import { namedSubject, type ReferenceOptions, withReferenceOptions } from './named-subject.ts'
import { type Options, withService } from '../program/open.ts'
import { fields, isoTime, print, table } from '../program/output.ts'

const STATUSES = [
  'active',
  'suspect',
  'blocked',
  'removed',
] as const satisfies readonly Device['status'][]

interface ListOptions extends Options, ReferenceOptions {
  readonly status?: Device['status']
  readonly subject?: SubjectId
  readonly limit: number
}

/** `bonded device`: the registered devices of all subjects. */
export function deviceCommand(): Command {
  const command = new Command('device').description('List, inspect, block and remove devices')
  command.addCommand(listCommand())
  command
    .command('show')
    .description('Show a device and its live sessions')
    .addArgument(deviceArgument())
    .action(async (id: DeviceId, options: Options) => {
      const held = await withService(options, (service) => inspectDevice(service, id))
      const sessions = held.holds.map((session) => session.id)
      const document = { ...describe(held.device), sessions }
      print(options, document, fields({ ...document, sessions: sessions.join(' ') || null }))
    })
  command
    .command('timeline')
    .description('Show the events of a device')
    .addArgument(deviceArgument())
    .action(async (id: DeviceId, options: Options) => {
      const { events } = await withService(options, (service) => inspectDevice(service, id))
      const entries = events.map(({ at, requestId, ...event }) => ({
        at: new Date(at).toISOString(),
        ...event,
        request_id: requestId,
      }))
      const line = ({ at, seq, kind, step, request_id }: (typeof entries)[number]) =>
        [at, String(seq).padStart(3), kind, step && `(${step})`, request_id]
          .filter((part) => part !== null)
          .join('  ')
      print(options, entries, entries.map(line))
    })
  addVerb(command, 'block', 'Block a device; the service rejects its next call')
  addVerb(command, 'unblock', 'Reactivate a blocked or suspect device')
  addVerb(command, 'remove', 'Remove a device permanently, with its key and its token')
  return command
}

function listCommand(): Command {
  return withReferenceOptions(new Command('list'))
    .description('List devices, newest first')
    .addOption(new Option('--status <status>', 'Only devices in this status').choices(STATUSES))
    .addOption(
      new Option('--subject <subject>', 'Only devices of this subject (sub_…)').argParser(
        parseSubjectId,
      ),
    )
    .addOption(limitOption())
    .action(async (options: ListOptions) => {
      const { status, subject, limit } = options
      const named = namedSubject(subject, options)
      const devices = await withService(options, async (service) => {
        const subjectId = named && (await findSubjectId(service, named))
        const wanted = { limit, ...(status && { status }), ...(subjectId && { subjectId }) }
        return listDevices(service, wanted)
      })
      const documents = devices.map(describe)
      const names = ['device_id', 'status', 'format', 'environment'] as const
      print(options, documents, table(names, documents, 'No devices.'))
    })
}

function addVerb(parent: Command, verb: keyof typeof DEVICE_VERBS, description: string): void {
  parent
    .command(verb)
    .description(description)
    .addArgument(deviceArgument())
    .action(async (id: DeviceId, options: Options) => {
      const { device, holds } = await withService(options, (service) =>
        moveDevice(service, id, verb),
      )
      const done = DEVICE_VERBS[verb]
      print(
        options,
        {
          device_id: device.id,
          status: device.status,
          sessions: holds.map((session) => session.id),
        },
        [
          `${done.charAt(0).toUpperCase()}${done.slice(1)} ${device.id}.`,
          ...(verb === 'unblock' ? [] : liveSessions(holds)),
        ],
      )
    })
}

function liveSessions(holds: HeldDevice['holds']): readonly string[] {
  if (holds.length === 0) return []
  return [
    'Its live sessions continue until they end, and its bonds have no verification. To end one now:',
    ...holds.map(({ id }) => `  bonded session kill ${id}`),
  ]
}

function describe(device: Device) {
  return {
    device_id: device.id,
    subject_id: device.subjectId,
    status: device.status,
    format: device.format,
    environment: device.environment,
    app_id: device.appId,
    counter: device.counter,
    created_at: isoTime(device.createdAt),
    last_assertion_at: isoTime(device.lastIssuedAt),
  }
}
