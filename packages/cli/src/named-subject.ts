import type { SubjectId, TenantId } from '@bonded/contract'
import { PATH_TEXTS } from '@bonded/contract'
import type { NamedSubject } from '@bonded/core/operations/admin/subjects'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseTenantId } from './arguments.ts'

/** The options that name a user as a tenant does. */
export interface ReferenceOptions {
  readonly subjectRef?: string
  readonly tenant?: TenantId
}

/** Adds `--subject-ref` and `--tenant` to a command. */
export function withReferenceOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--subject-ref <subject_ref>', 'The user as a tenant knows them').argParser(
        parseSubjectRef,
      ),
    )
    .addOption(
      new Option('--tenant <tenant>', 'The tenant of --subject-ref (ten_…)').argParser(
        parseTenantId,
      ),
    )
}

/**
 * The subject that a command names, by its id or by the reference of a tenant; undefined if by
 * neither.
 *
 * @throws {OperatorError} if it names one in both ways, or half of a reference
 */
export function namedSubject(
  id: SubjectId | undefined,
  { subjectRef, tenant }: ReferenceOptions,
): NamedSubject | undefined {
  if (subjectRef === undefined && tenant === undefined) return id
  if (id === undefined && subjectRef !== undefined && tenant !== undefined)
    return { tenantId: tenant, subjectRef }
  throw new OperatorError('Name the subject by its id, or by --subject-ref with --tenant', {
    code: 'invalid',
  })
}

/** @throws {InvalidArgumentError} where the text is not the reference of a user */
export function parseSubjectRef(text: string): string {
  if (PATH_TEXTS.subject_ref.test(text)) return text
  throw new InvalidArgumentError('Expected 43 characters of base64url.')
}
