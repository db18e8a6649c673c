import type { SubjectId, TenantId } from '@bonded/contract'
import { PATH_TEXTS } from '@bonded/contract'
import type { NamedSubject } from '@bonded/core/operations/admin/subjects'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { Command, InvalidArgumentError, Option } from 'commander'
import type { Service } from '@bonded/core/operations/service'
import { parseTenantId, subjectArgument } from '../program/arguments.ts'
import { type Options, withService } from '../program/open.ts'

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

/** A command about one user: what it does, and how it prints what that returns. */
export function subjectCommandOf<T>(
  name: string,
  {
    description,
    act,
    show,
  }: {
    readonly description: string
    readonly act: (service: Service, named: NamedSubject) => Promise<T>
    readonly show: (options: Options, result: T) => void
  },
): Command {
  return withReferenceOptions(new Command(name))
    .description(description)
    .addArgument(subjectArgument())
    .action(async (id: SubjectId | undefined, options: Options & ReferenceOptions) => {
      const named = namedSubject(id, options)
      if (named === undefined)
        throw new OperatorError('Name a subject, or --subject-ref with --tenant', {
          code: 'invalid',
        })
      show(options, await withService(options, (service) => act(service, named)))
    })
}

/** @throws {InvalidArgumentError} where the text is not the reference of a user */
export function parseSubjectRef(text: string): string {
  if (PATH_TEXTS.subject_ref.test(text)) return text
  throw new InvalidArgumentError('Expected 43 characters of base64url.')
}
