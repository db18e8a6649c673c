import type { SubjectId, TenantId } from '@bonded/contract'
import { Command } from 'commander'
import {
  changeSubject,
  findSubjectId,
  inspectSubject,
  type NamedSubject,
  resumeInboxes,
  type SubjectRecord,
} from '@bonded/core/operations/admin/subjects'
import type { Service } from '@bonded/core/operations/service'
import { subjectCommandOf } from './named-subject.ts'
import type { Options } from '../program/open.ts'
import { isoTime, print, table } from '../program/output.ts'
import { eraseCommand, exportCommand } from './subject-data.ts'

type Act = (service: Service, id: SubjectId, tenantId?: TenantId) => Promise<SubjectRecord>

/** The commands that print the subject as it is afterwards. */
const RECORD_COMMANDS: readonly (readonly [name: string, description: string, act: Act])[] = [
  ['show', 'Show a subject, its devices, and the tenants that know it', inspectSubject],
  [
    'block',
    'Block a subject everywhere: all its devices, present and future',
    (service, id) => changeSubject(service, id, 'block'),
  ],
  [
    'unblock',
    'End the block of a subject; devices blocked one by one stay blocked',
    (service, id) => changeSubject(service, id, 'unblock'),
  ],
  [
    'resume-inbox',
    'End the pauses that the reports of a user began: of one tenant, or of all',
    resumeInboxes,
  ],
]

/** `bonded subject`: all the devices of one user at once. */
export function subjectCommand(): Command {
  const command = new Command('subject').description('Inspect, block, export, and erase one user')
  for (const [name, description, act] of RECORD_COMMANDS) {
    const actOn = async (service: Service, named: NamedSubject) => {
      const id = await findSubjectId(service, named)
      return act(service, id, typeof named === 'string' ? undefined : named.tenantId)
    }
    command.addCommand(subjectCommandOf(name, { description, act: actOn, show: printSubject }))
  }
  return command.addCommand(exportCommand()).addCommand(eraseCommand())
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
