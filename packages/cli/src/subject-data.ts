import {
  decodeBase64url,
  encodeBase64url,
  escapeHiddenJson,
  type SubjectId,
} from '@bonded/contract'
import { eraseSubject } from '@bonded/core/operations/admin/erase-subject'
import { exportSubject } from '@bonded/core/operations/admin/export-subject'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import type { NamedSubject } from '@bonded/core/operations/admin/subjects'
import type { StoredRow } from '@bonded/core/ports/tables/subject-data-table'
import { PERSONAL_DATA } from '@bonded/store/personal-data'
import { Command } from 'commander'
import { jsonOption, subjectArgument } from './arguments.ts'
import { reasonOption } from './audited.ts'
import { namedSubject, type ReferenceOptions, withReferenceOptions } from './named-subject.ts'
import { type Options, withService } from './open.ts'
import { isoTime, print } from './output.ts'

interface DataOptions extends Options, ReferenceOptions {}

/** `bonded subject export`: the copy of their data that a user has a right to. */
export function exportCommand(): Command {
  return dataCommand('export')
    .description('Print everything that is stored of one user as JSON')
    .addOption(jsonOption('No effect: the output is always one JSON document'))
    .action(async (id: SubjectId | undefined, options: DataOptions) => {
      const named = subjectOf(id, options)
      const stored = await withService(options, (service) => exportSubject(service, named))
      const data = Object.entries(stored)
        .filter(([, rows]) => rows.length > 0)
        .map(([table, rows]) => [table, rows.map((each) => presentRow(table, each))])
      const document = { exported_at: isoTime(Date.now()), ...Object.fromEntries(data) }
      process.stdout.write(`${escapeHiddenJson(JSON.stringify(document, null, 2))}\n`)
    })
}

/** `bonded subject erase`: deletes it. */
export function eraseCommand(): Command {
  return dataCommand('erase')
    .description('Delete everything that is stored of one user, and end their running sessions')
    .addOption(reasonOption().makeOptionMandatory())
    .addOption(jsonOption())
    .action(async (id: SubjectId | undefined, options: DataOptions) => {
      const named = subjectOf(id, options)
      const erased = await withService(options, (service) => eraseSubject(service, named))
      const document = {
        whole_subject: erased.isWhole,
        devices: erased.devices,
        ended_sessions: erased.endedSessions,
        sessions: erased.sessions,
        receipts: erased.receipts,
        rejections: erased.rejections,
        deliveries: erased.deliveries,
      }
      print(options, document, [
        erased.isWhole
          ? `Erased the user: ${erased.devices} devices.`
          : 'Erased what this tenant had of the user. Other tenants know the user, so the devices stay.',
        `Ended ${erased.endedSessions} running sessions. Deleted ${erased.sessions} sessions, ${erased.receipts} receipts, ${erased.rejections} rejections, and ${erased.deliveries} webhook deliveries.`,
        'Deleted rows leave remains in the files of the database. Run: bonded vacuum',
        'Backups and WAL archives from before still have the user. See "Personal data" in the operator’s guide.',
      ])
    })
}

function dataCommand(name: string): Command {
  return withReferenceOptions(new Command(name)).addArgument(subjectArgument())
}

function subjectOf(id: SubjectId | undefined, options: ReferenceOptions): NamedSubject {
  const named = namedSubject(id, options)
  if (named !== undefined) return named
  throw new OperatorError('Name a subject, or --subject-ref with --tenant', { code: 'invalid' })
}

/** A row without secrets, with times and JSON that people can read. */
function presentRow(table: string, stored: StoredRow): Record<string, unknown> {
  const secret = (PERSONAL_DATA[table]?.columns ?? [])
    .filter(([, kind]) => kind === 'secret')
    .flatMap(([names]) => names.split(' '))
  return Object.fromEntries(
    Object.entries(stored)
      .filter(([column]) => !secret.includes(column))
      .map(([column, value]) => [column, presentValue(column, value)]),
  )
}

function presentValue(column: string, value: StoredRow[string]): unknown {
  if (value instanceof Uint8Array) return encodeBase64url(value)
  if (typeof value === 'number') return /(?:^|_)(?:at|until)$/.test(column) ? isoTime(value) : value
  if (column === 'jws') return { jws: value, content: claimsOf(String(value)) }
  return typeof value === 'string' && /^[[{]/.test(value) ? (JSON.parse(value) as unknown) : value
}

/** What a receipt says, for a reader. */
function claimsOf(jws: string): unknown {
  const bytes = decodeBase64url(jws.split('.')[1] ?? '') ?? new Uint8Array()
  return JSON.parse(new TextDecoder().decode(bytes))
}
