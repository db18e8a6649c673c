import {
  ENDED_REASONS,
  type EndedReason,
  SESSION_STATES,
  type SessionId,
  type SessionState,
  type TenantId,
  type TimelineEntry,
} from '@bonded/contract'
import { Command, Option } from 'commander'
import type { Session } from '@bonded/core/domain/session'
import { killSessionAsOperator } from '@bonded/core/operations/admin/kill-session'
import { listSessions } from '@bonded/core/operations/admin/list-sessions'
import { inspectSession } from '@bonded/core/operations/admin/inspect-session'
import {
  jsonOption,
  limitOption,
  optionalTenantArgument,
  parseSessionId,
  parseTime,
  rejectReversedRange,
  sessionArgument,
} from '../program/arguments.ts'
import { parseSubjectRef } from './named-subject.ts'
import { type Options, withService } from '../program/open.ts'
import { rejectionsCommand } from './rejections.ts'
import { followSession, type SessionEnd } from './session-tail.ts'
import { fields, isoTime, print, printLine, table, written } from '../program/output.ts'
import { stepLegend } from './step-legend.ts'

interface ListOptions extends Options {
  readonly state?: SessionState
  readonly ended?: EndedReason
  readonly subjectRef?: string
  readonly since?: number
  readonly until?: number
  readonly limit: number
  readonly after?: SessionId
}

/** `bonded session`: sessions of any tenant. */
export function sessionCommand(): Command {
  const command = new Command('session').description('List, inspect and end sessions')
  command.addCommand(listCommand())
  command.addCommand(rejectionsCommand())
  command
    .command('show')
    .description('Show a session. Nonces and secrets are never shown')
    .addArgument(sessionArgument())
    .action(async (id: SessionId, options: Options) => {
      const { session, state } = await withService(options, (service) =>
        inspectSession(service, id),
      )
      const document = describeSession(session, state)
      print(options, document, fields(document))
    })
  command
    .command('timeline')
    .description('Show the events of a session, with the exact reason of each rejection')
    .addArgument(sessionArgument())
    .action(async (id: SessionId, options: Options) => {
      const { timeline } = await withService(options, (service) => inspectSession(service, id))
      print(options, timeline, [...timeline.map(timelineLine), ...stepLegend(timeline)])
    })
  command
    .command('tail')
    .description('Follow the events of a session until it ends, which the last line says')
    .addArgument(sessionArgument())
    .addOption(jsonOption('Print one line of JSON for each event'))
    .action(async (id: SessionId, options: Options) => {
      await withService(options, async (service) => {
        for await (const line of followSession(service, id)) {
          printLine(options, line, ['kind' in line ? timelineLine(line) : endLine(line)])
          await written()
        }
      })
    })
  command
    .command('kill')
    .description('End a live session at once; its page and its phone are notified')
    .addArgument(sessionArgument())
    .action(async (id: SessionId, options: Options) => {
      const { state, endedReason } = await withService(options, (service) =>
        killSessionAsOperator(service, id),
      )
      const document = { session_id: id, state, ended_reason: endedReason }
      print(options, document, [`Session ${id} is ${state} (${endedReason}).`])
    })
  return command
}

/** What the list shows of each session. */
const LISTED = ['session_id', 'state', 'created_at', 'tenant_id', 'workflow', 'action'] as const

function listCommand(): Command {
  return new Command('list')
    .description('List sessions, newest first')
    .addArgument(optionalTenantArgument())
    .addOption(
      new Option('--state <state>', 'Only sessions in this state').choices([...SESSION_STATES]),
    )
    .addOption(
      new Option('--ended <reason>', 'Only sessions that ended so').choices([...ENDED_REASONS]),
    )
    .option('--subject-ref <subject_ref>', 'The user as a tenant knows them', parseSubjectRef)
    .addOption(new Option('--since <time>', 'Created at this time or later').argParser(parseTime))
    .addOption(new Option('--until <time>', 'Created at this time or before').argParser(parseTime))
    .hook('preAction', rejectReversedRange)
    .addOption(limitOption())
    .option('--after <session>', 'Continue after the previous page', parseSessionId)
    .action(async (tenantId: TenantId | undefined, options: ListOptions) => {
      const { state, ended: endedReason, subjectRef, since, until, limit, after } = options
      const filter = { tenantId, state, endedReason, subjectRef, since, until, limit, after }
      const { sessions, next } = await withService(options, (service) =>
        listSessions(service, filter),
      )
      const documents = sessions.map(({ session, state: now }) => describeSession(session, now))
      const none = next === undefined ? 'No sessions.' : 'None of the newest sessions.'
      print(options, { sessions: documents, next: next ?? null }, [
        ...table(LISTED, documents, none),
        ...(next === undefined ? [] : ['', `More sessions: repeat with --after ${next}`]),
      ])
    })
}

function describeSession(session: Session, state: SessionState) {
  return {
    session_id: session.id,
    tenant_id: session.tenantId,
    state,
    seq: session.seq,
    workflow: session.workflow,
    action: session.action,
    created_at: isoTime(session.createdAt),
    expires_at: isoTime(session.expiresAt),
    bonded_at: isoTime(session.bondedAt),
    reported_at: isoTime(session.completedAt),
    completed_at: isoTime(state === 'completed' ? session.completedAt : null),
    outcome: session.outcome,
    ended_at: isoTime(session.endedAt),
    ended_reason: session.endedReason,
    device_id: session.deviceId,
    subject_ref: session.subjectRef,
    verification: session.verification,
    step_up: session.stepUp,
  }
}

function endLine({ session_id, state, ended_reason }: SessionEnd): string {
  return `Session ${session_id} is ${state}${ended_reason === null ? '' : ` (${ended_reason})`}.`
}

function timelineLine(entry: TimelineEntry): string {
  const { at, seq, kind, reason, step, request_id, key_id, key_name } = entry
  const key = key_id && `key ${key_name ?? key_id}`
  return [at, String(seq ?? '').padStart(3), kind, reason, step && `(${step})`, request_id, key]
    .filter((part) => part !== null)
    .join('  ')
}
