import type { SubjectId, TenantId } from '@bonded/contract'
import { Command } from 'commander'
import {
  changeSubject,
  findSubjectId,
  inspectSubject,
  resumeInboxes,
  type SUBJECT_VERBS,
  type SubjectRecord,
} from '@bonded/core/operations/admin/subjects'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import type { Service } from '@bonded/core/operations/service'
import { jsonOption, subjectArgument } from './arguments.ts'
import { namedSubject, type ReferenceOptions, withReferenceOptions } from './named-subject.ts'
import { type Options, withService } from './open.ts'
import { isoTime, print, table } from './output.ts'
import { eraseCommand, exportCommand } from './subject-data.ts'

interface SubjectOptions extends Options, ReferenceOptions {}

/** `bonded subject`: all the devices of one user at once. */
export function subjectCommand(): Command {
  const command = new Command('subject').description('Inspect, block, export, and erase one user')
  addSubjectCommand(command, 'show', {
    description: 'Show a subject, its devices, and the tenants that know it',
    act: inspectSubject,
  })
  addVerb(command, 'block', 'Block a subject everywhere: all its devices, present and future')
  addVerb(command, 'unblock', 'End the block of a subject; devices blocked one by one stay blocked')
  addSubjectCommand(command, 'resume-inbox', {
    description: 'End the pauses that the reports of a user began: of one tenant, or of all',
    act: resumeInboxes,
  })
  command.addCommand(exportCommand())
  command.addCommand(eraseCommand())
  return command
}

function addVerb(parent: Command, verb: keyof typeof SUBJECT_VERBS, description: string): void {
  addSubjectCommand(parent, verb, {
    description,
    act: (service, id) => changeSubject(service, id, verb),
  })
}

function addSubjectCommand(
  parent: Command,
  name: string,
  {
    description,
    act,
  }: {
    description: string
    act: (service: Service, id: SubjectId, tenantId?: TenantId) => Promise<SubjectRecord>
  },
): void {
  withReferenceOptions(parent.command(name))
    .description(description)
    .addArgument(subjectArgument())
    .addOption(jsonOption())
    .action(async (id: SubjectId | undefined, options: SubjectOptions) => {
      const named = namedSubject(id, options)
      if (named === undefined)
        throw new OperatorError('Name a subject, or --subject-ref with --tenant', {
          code: 'invalid',
        })
      const subject = await withService(options, async (service) =>
        act(
          service,
          await findSubjectId(service, named),
          typeof named === 'string' ? undefined : named.tenantId,
        ),
      )
      printSubject(options, subject)
    })
}

function printSubject(
  options: Options,
  { subjectId, blockedAt, keys, references }: SubjectRecord,
): void {
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
  const tenants = references.map(({ tenantId, subjectRef, ...reference }) => ({
    tenant_id: tenantId,
    subject_ref: subjectRef,
    blocked_at: isoTime(reference.blockedAt ?? null),
    inbox_paused_until: isoTime(reference.inboxPausedUntil || null),
  }))
  const ofTenants = ['tenant_id', 'subject_ref', 'blocked_at', 'inbox_paused_until'] as const
  print(options, { subject_id: subjectId, blocked_at, devices, tenants }, [
    `${subjectId}  ${blocked_at === null ? 'not blocked by the operator' : `blocked by the operator since ${blocked_at}`}`,
    ...table(names, devices, 'No devices.'),
    ...table(ofTenants, tenants, 'No tenant knows it.'),
  ])
}
