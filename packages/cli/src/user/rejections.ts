import { parseId, REJECTION_CURSOR, type RequestId, type SessionId } from '@bonded/contract'
import { searchRejections } from '@bonded/core/operations/tenant/search-rejections'
import type { RejectionKey } from '@bonded/core/ports/tables/rejection-table'
import { Command, InvalidArgumentError, Option } from 'commander'
import {
  limitOption,
  parseSessionId,
  parseTime,
  rejectReversedRange,
} from '../program/arguments.ts'
import { type ReferenceOptions, withReferenceOptions } from './named-subject.ts'
import { type Options, withService } from '../program/open.ts'
import { isoTime, print, table } from '../program/output.ts'
import { stepLegend } from './step-legend.ts'

interface SearchOptions extends Options, ReferenceOptions {
  readonly request?: RequestId
  readonly session?: SessionId
  readonly reason?: string
  readonly since?: number
  readonly until?: number
  readonly after?: RejectionKey
  readonly limit: number
}

const SHOWN = ['at', 'request_id', 'session_id', 'reason', 'step'] as const

/** `bonded session rejections`: why requests were rejected, also of sessions that are deleted. */
export function rejectionsCommand(): Command {
  return withReferenceOptions(new Command('rejections'))
    .description('Search why requests were rejected, newest first; kept longer than sessions')
    .option('--request <request>', 'The reference on the user’s screen (req_…)', parseRequestId)
    .option('--session <session>', 'Session id (sess_…)', parseSessionId)
    .option('--reason <reason>', 'Only this reason')
    .addOption(new Option('--since <time>', 'From this time on, in UTC').argParser(parseTime))
    .addOption(new Option('--until <time>', 'Up to this time, in UTC').argParser(parseTime))
    .hook('preAction', rejectReversedRange)
    .addOption(limitOption())
    .option('--after <cursor>', 'Continue after the previous page', parseCursor)
    .action(async (options: SearchOptions) => {
      const { tenant, request, session, subjectRef, reason, since, until, after, limit } = options
      const page = await withService(options, (service) =>
        searchRejections(service, {
          tenantId: tenant,
          requestId: request,
          sessionId: session,
          subjectRef,
          reason,
          since,
          until,
          before: after,
          limit,
        }),
      )
      const documents = page.rejections.map((found) => ({
        at: isoTime(found.at),
        tenant_id: found.tenantId,
        request_id: found.requestId,
        session_id: found.sessionId,
        subject_ref: found.subjectRef,
        reason: found.reason,
        step: found.step,
      }))
      const next = page.next && `${page.next.at}.${page.next.requestId}`
      print(options, { rejections: documents, next }, [
        ...table(SHOWN, documents, 'No rejections.'),
        ...stepLegend(documents),
        ...(next === null ? [] : ['', `More rejections: repeat with --after ${next}`]),
      ])
    })
}

function parseRequestId(text: string): RequestId {
  const id = parseId('req', text)
  if (id !== undefined) return id
  throw new InvalidArgumentError('Expected req_ followed by 22 letters and digits.')
}

function parseCursor(text: string): RejectionKey {
  const [, at = '', request = ''] = REJECTION_CURSOR.exec(text) ?? []
  const requestId = parseId('req', request)
  if (requestId !== undefined) return { at: Number(at), requestId }
  throw new InvalidArgumentError('Expected the cursor that the previous page printed.')
}
