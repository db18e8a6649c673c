import { parseId, type SessionId, type TimelineEntry } from '@bonded/contract'
import { Command } from 'commander'
import { inspectSession, OperatorError } from '../operations/admin/tenants.ts'
import { killSessionAsOperator } from '../operations/admin/kill-session.ts'
import { type Options, print, withService } from './open.ts'

/** `bonded session`: what happened to a session. */
export function sessionCommand(): Command {
  const command = new Command('session').description('What happened to a session.')
  command
    .command('show <session>')
    .description('Shows a session of any tenant. No nonce and no secret is among it.')
    .option('--json', 'print JSON')
    .action(async (id: string, options: Options) => {
      const { session, state } = await withService(options, (service) =>
        inspectSession(service, sessionIdOf(id)),
      )
      const at = (instant: number | null) =>
        instant === null ? null : new Date(instant).toISOString()
      const document = {
        session_id: session.id,
        tenant_id: session.tenantId,
        state,
        seq: session.seq,
        workflow: session.workflow,
        action: session.action,
        created_at: at(session.createdAt),
        expires_at: at(session.expiresAt),
        bonded_at: at(session.bondedAt),
        completed_at: at(session.completedAt),
        ended_at: at(session.endedAt),
        ended_reason: session.endedReason,
        device_id: session.deviceId,
        subject_ref: session.subjectRef,
        verification: session.verification,
        step_up: session.stepUp,
      }
      const lines = Object.entries(document).map(
        ([name, value]) =>
          `${name.padEnd(13)} ${typeof value === 'object' ? JSON.stringify(value) : String(value)}`,
      )
      print(options, document, lines)
    })
  command
    .command('timeline <session>')
    .description('Shows what happened to a session, with the exact step of each refusal.')
    .option('--json', 'print JSON')
    .action(async (id: string, options: Options) => {
      const { timeline } = await withService(options, (service) =>
        inspectSession(service, sessionIdOf(id)),
      )
      print(options, timeline, timeline.map(line))
    })
  command
    .command('kill <session>')
    .description('Ends a live session. Whoever watches it is told.')
    .option('--json', 'print JSON')
    .action(async (id: string, options: Options) => {
      const session = await withService(options, (service) =>
        killSessionAsOperator(service, sessionIdOf(id)),
      )
      const { state, endedReason } = session
      print(options, { session_id: session.id, state, ended_reason: endedReason }, [
        `${session.id} is ${state} (${endedReason}).`,
      ])
    })
  return command
}

function line({ at, seq, kind, reason, step, request_id }: TimelineEntry): string {
  return [at, String(seq ?? '').padStart(3), kind, reason, step && `(${step})`, request_id]
    .filter((part) => part !== null)
    .join('  ')
}

function sessionIdOf(text: string): SessionId {
  const id = parseId('sess', text)
  if (id === undefined)
    throw new OperatorError(`${text} is not a session's id: sess_ and 22 characters`)
  return id
}
