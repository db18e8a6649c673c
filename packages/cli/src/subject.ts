import type { SubjectId } from '@bonded/contract'
import { Command } from 'commander'
import {
  changeSubject,
  inspectSubject,
  type SUBJECT_VERBS,
  type SubjectRecord,
} from '@bonded/core/operations/admin/subjects'
import { jsonOption, subjectArgument } from './arguments.ts'
import { type Options, withService } from './open.ts'
import { isoTime, print, table } from './output.ts'

/** `bonded subject`: all the devices of one user at once. */
export function subjectCommand(): Command {
  const command = new Command('subject').description('Inspect and block all devices of one user')
  command
    .command('show')
    .description('Show a subject and its devices')
    .addArgument(subjectArgument())
    .addOption(jsonOption())
    .action(async (id: SubjectId, options: Options) => {
      printSubject(options, await withService(options, (service) => inspectSubject(service, id)))
    })
  addVerb(command, 'block', 'Block a subject: all its devices, present and future')
  addVerb(command, 'unblock', 'End the block of a subject; devices blocked one by one stay blocked')
  return command
}

function addVerb(parent: Command, verb: keyof typeof SUBJECT_VERBS, description: string): void {
  parent
    .command(verb)
    .description(description)
    .addArgument(subjectArgument())
    .addOption(jsonOption())
    .action(async (id: SubjectId, options: Options) => {
      printSubject(
        options,
        await withService(options, (service) => changeSubject(service, id, verb)),
      )
    })
}

function printSubject(options: Options, { subjectId, blockedAt, keys }: SubjectRecord): void {
  const blocked_at = isoTime(blockedAt ?? null)
  const devices = keys.map(({ id, status, format, environment, createdAt, addedBy }) => ({
    device_id: id,
    status,
    format,
    environment,
    created_at: isoTime(createdAt),
    added_by: addedBy ?? null,
  }))
  const names = ['device_id', 'status', 'format', 'environment', 'created_at', 'added_by'] as const
  print(options, { subject_id: subjectId, blocked_at, devices }, [
    `${subjectId}  ${blocked_at === null ? 'not blocked' : `blocked since ${blocked_at}`}`,
    ...table(names, devices, 'No devices.'),
  ])
}
