import { decodeBase64url, encodeBase64url } from '@bonded/contract'
import { eraseSubject } from '@bonded/core/operations/admin/erase-subject'
import { exportSubject } from '@bonded/core/operations/admin/export-subject'
import type { StoredRow } from '@bonded/core/ports/tables/subject-data-table'
import { columnNames } from '@bonded/store/personal-data'
import type { Command } from 'commander'
import { jsonOption } from '../program/arguments.ts'
import { reasonOption } from '../program/audited.ts'
import { subjectCommandOf } from './named-subject.ts'
import { isoTime, print } from '../program/output.ts'

/** `bonded subject export`: the copy of their data that a user has a right to. */
export function exportCommand(): Command {
  return subjectCommandOf('export', {
    description: 'Print everything that is stored of one user as JSON',
    act: exportSubject,
    show: (_options, stored) => {
      const data = Object.entries(stored)
        .filter(([, rows]) => rows.length > 0)
        .map(([table, rows]) => [table, rows.map((each) => presentRow(table, each))])
      const document = { exported_at: isoTime(Date.now()), ...Object.fromEntries(data) }
      print({ json: true }, document, [])
    },
  }).addOption(jsonOption('No effect: the output is always one JSON document'))
}

/** `bonded subject erase`: deletes it. */
export function eraseCommand(): Command {
  return subjectCommandOf('erase', {
    description: 'Delete everything that is stored of one user, and end their running sessions',
    act: eraseSubject,
    show: (options, erased) => {
      const { isWhole, devices, endedSessions, sessions, receipts, rejections, deliveries } = erased
      const document = {
        whole_subject: isWhole,
        devices,
        ended_sessions: endedSessions,
        sessions,
        receipts,
        rejections,
        deliveries,
      }
      print(options, document, [
        isWhole
          ? `Erased the user: ${devices} devices.`
          : 'Erased what this tenant had of the user. Other tenants know the user, so the devices stay.',
        `Ended ${endedSessions} running sessions. Deleted ${sessions} sessions, ${receipts} receipts, ${rejections} rejections, and ${deliveries} webhook deliveries.`,
        'Deleted rows leave remains in the files of the database. Run: bonded vacuum',
        'Backups and WAL archives from before still have the user. See "Personal data" in the operator’s guide.',
      ])
    },
  }).addOption(reasonOption().makeOptionMandatory())
}

/** A row without secrets, with times and JSON that people can read. */
function presentRow(table: string, stored: StoredRow): Record<string, unknown> {
  const secret = columnNames(table, 'secret')
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
