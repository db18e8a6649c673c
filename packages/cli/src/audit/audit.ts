import { setTimeout as delay } from 'node:timers/promises'
import { type DeviceId, escapeHiddenJson, type SessionId, type SubjectId } from '@bonded/contract'
import type { AuditEntry } from '@bonded/core/domain/audit'
import { ocsfEvent } from '@bonded/core/domain/audit-ocsf'
import { listAudit } from '@bonded/core/operations/admin/list-audit'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { verifyAudit } from '@bonded/core/operations/admin/verify-audit'
import type { Service } from '@bonded/core/operations/service'
import { VERSION } from '@bonded/server/version'
import { Command, Option } from 'commander'
import {
  jsonOption,
  limitOption,
  parseDeviceId,
  parseSessionId,
  parseSubjectId,
  parseTime,
  rejectReversedRange,
  wholeNumber,
} from '../program/arguments.ts'
import { AuditFile } from './audit-file.ts'
import { textOf } from '../program/given-file.ts'
import { type ReferenceOptions, withReferenceOptions } from '../user/named-subject.ts'
import { type Options, withService } from '../program/open.ts'
import { isoTime, print, table, write, written } from '../program/output.ts'

interface ListOptions extends Options, ReferenceOptions {
  readonly since?: number
  readonly until?: number
  readonly after?: number
  readonly action?: string
  readonly subject?: SubjectId
  readonly device?: DeviceId
  readonly session?: SessionId
  readonly format?: 'jsonl'
  readonly limit: number
}

interface ExportOptions extends Options {
  readonly since?: number
  readonly after?: number
  readonly file?: string
  readonly rotateMb: number
  readonly keep: number
  readonly follow?: boolean
}

/** How many entries one read returns. */
const BATCH = 500
/** Soon enough for a SIEM, and a cheap query. */
const PAUSE_MS = 1_000
const MAX_SHOWN_PROBLEMS = 20
const SHOWN = ['number', 'at', 'actor', 'address', 'action', 'result', 'reason'] as const

/** `bonded audit`: what operators and tenants did, for an auditor and a SIEM. */
export function auditCommand(): Command {
  const command = new Command('audit').description('List, export and verify the audit log')
  command.addCommand(listCommand())
  command.addCommand(exportCommand())
  command.addCommand(verifyCommand())
  return command
}

function listCommand(): Command {
  return withReferenceOptions(new Command('list'))
    .description('List what operators and tenants did, oldest first')
    .addOption(sinceOption())
    .addOption(new Option('--until <time>', 'Up to this time, in UTC').argParser(parseTime))
    .hook('preAction', rejectReversedRange)
    .option('--subject <subject>', 'About this user (sub_…)', parseSubjectId)
    .option('--device <device>', 'About the user of this device (dev_…)', parseDeviceId)
    .option('--session <session>', 'About the user of this session (sess_…)', parseSessionId)
    .option('--action <action>', 'Only this action, such as "device block"')
    .addOption(afterOption())
    .addOption(limitOption())
    .addOption(formatOption())
    .action(async (options: ListOptions) => {
      const { since, until, after, action, subject, device, session, subjectRef, tenant, limit } =
        options
      const target = {
        tenantId: tenant,
        subjectRef,
        subjectId: subject,
        deviceId: device,
        sessionId: session,
      }
      const entries = await withService(options, (service) =>
        listAudit(service, { target, query: { since, until, after, action, limit } }),
      )
      if (options.format === 'jsonl') return printLines(entries.map(lineOf))
      const documents = entries.map(describe)
      const next = entries.length === limit ? (entries.at(-1)?.number ?? null) : null
      print(options, { entries: documents, next }, [
        ...table(SHOWN, documents, 'No entries.'),
        ...(next === null ? [] : ['', `More entries: repeat with --after ${next}`]),
      ])
    })
}

function exportCommand(): Command {
  return new Command('export')
    .description('Write the audit log as JSON lines in the shape of OCSF, oldest first')
    .addOption(sinceOption())
    .addOption(afterOption())
    .addOption(formatOption().default('jsonl'))
    .option('--file <file>', 'Append to this file, after the last entry that it has')
    .addOption(
      new Option('--rotate-mb <size>', 'Rename a file of --file of this size to .1, in MB')
        .argParser(wholeNumber(10_000))
        .default(100, '100'),
    )
    .addOption(
      new Option('--keep <number>', 'How many renamed files stay')
        .argParser(wholeNumber(1_000))
        .default(10, '10'),
    )
    .option('--follow', 'Go on with new entries until the command is stopped')
    .addOption(jsonOption('Print JSON lines, as without it'))
    .action(async (options: ExportOptions) => {
      const { since, file, rotateMb, keep, follow } = options
      const sink = file && new AuditFile(file, { maxBytes: rotateMb * 1_000_000, keep })
      const put = sink ? async (lines: readonly string[]) => sink.append(lines) : printLines
      await withService(options, async (service) => {
        let after = options.after ?? (sink ? await numberBefore(service, sink) : 0)
        for (;;) {
          const entries = await entriesAfter(service, { since, after })
          if (entries.length > 0) await put(entries.map(lineOf))
          after = entries.at(-1)?.number ?? after
          if (entries.length === BATCH) continue
          if (follow !== true) return
          await delay(PAUSE_MS)
        }
      })
    })
}

/** @throws {OperatorError} if the file does not continue in the database, as after a restore */
async function numberBefore(service: Service, file: AuditFile): Promise<number> {
  const last = file.last()
  if (last === undefined) return 0
  const after = last.number - 1
  const [stored] = await service.store.read(({ audit }) => audit.list({ after, limit: 1 }))
  // The last entry stays after its retention, without its content.
  const isKnown = stored && (stored.number > last.number || stored.previous === last.previous)
  if (isKnown) return last.number
  throw new OperatorError(
    'The file has entries that the database has lost, as after a restore. Export into a new file',
    { code: 'conflict' },
  )
}

function entriesAfter(
  service: Service,
  query: { readonly since: number | undefined; readonly after: number },
): Promise<readonly AuditEntry[]> {
  return listAudit(service, { target: {}, query: { ...query, limit: BATCH } })
}

function verifyCommand(): Command {
  return new Command('verify')
    .description('Compare the audit log with the log of receipts, and that with a checkpoint')
    .option(
      '--checkpoint <file>',
      'Checkpoint that you have stored, of /receipts/log/checkpoint; - reads stdin',
    )
    .action(async ({ checkpoint, ...options }: Options & { readonly checkpoint?: string }) => {
      const outside = checkpoint && textOf(checkpoint)
      const report = await withService(options, (service) => verifyAudit(service, outside))
      const { entries, purged, logged, log, problems } = report
      if (problems.length > 0) throw new OperatorError(problemsOf(problems))
      const waiting = entries - logged
      print(options, report, [
        log === undefined
          ? `${entries} entries follow each other. The service has no log of receipts, so none is checkpointed.`
          : `${logged} entries are covered by the log of receipts ${log.origin}, of ${log.size} leaves.`,
        ...(log === undefined || waiting === 0 ? [] : [`${waiting} wait for the next checkpoint.`]),
        ...(purged === 0 ? [] : [`${purged} of them have reached the end of their retention.`]),
        ...(outside ? ['The log continues your checkpoint.'] : []),
      ])
    })
}

function problemsOf(problems: readonly string[]): string {
  const more = problems.length - MAX_SHOWN_PROBLEMS
  return [
    'The audit log was changed:',
    ...problems.slice(0, MAX_SHOWN_PROBLEMS),
    ...(more > 0 ? [`${more} more problems.`] : []),
  ].join('\n  ')
}

function lineOf(entry: AuditEntry): string {
  return escapeHiddenJson(JSON.stringify(ocsfEvent(entry, VERSION)))
}

/** Waits for its reader, so that an export of any size needs little memory. */
async function printLines(lines: readonly string[]): Promise<void> {
  write(lines.map((line) => `${line}\n`).join(''))
  await written()
}

function describe(entry: AuditEntry) {
  const { actorKind, contentHash, requestId, tenantId, valueBefore, valueAfter, ...rest } = entry
  return {
    ...rest,
    at: isoTime(entry.at),
    actor_kind: actorKind,
    content_hash: contentHash,
    request_id: requestId,
    tenant_id: tenantId,
    target: JSON.parse(entry.target) as object,
    before: valueBefore === null ? null : (JSON.parse(valueBefore) as object),
    after: valueAfter === null ? null : (JSON.parse(valueAfter) as object),
  }
}

const sinceOption = () =>
  new Option('--since <time>', 'From this time on, in UTC').argParser(parseTime)

const afterOption = () =>
  new Option('--after <number>', 'Only entries after this number').argParser(
    wholeNumber(Number.MAX_SAFE_INTEGER, 0),
  )

const formatOption = () =>
  new Option('--format <format>', 'JSON lines in the shape of OCSF').choices(['jsonl'])
