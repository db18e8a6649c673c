import { isDisplayText, makeId } from '@bonded/contract'
import type { AuditClass, AuditedAction, AuditTarget } from '@bonded/core/domain/audit'
import { systemRandom } from '@bonded/server/adapters/keys/random'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { Config } from '@bonded/server/settings/config'
import { AUDIT_CLASSES } from './audit-classes.ts'
import { namedOperator } from './operator.ts'

/** The call of a command, before the settings name its operator. */
export interface CommandCall {
  readonly auditClass: AuditClass
  readonly action: Omit<AuditedAction, 'actor'>
}

/** How the audit log sees the call of a command: without an entry, it needs no operator. */
export type AuditedCall =
  | { readonly auditClass: 'neither'; readonly action: CommandCall['action'] }
  | { readonly auditClass: 'changes' | 'reads_person'; readonly action: AuditedAction }

/** What an argument or an option names, by its name. */
const TARGETS: Readonly<Record<string, keyof AuditTarget>> = {
  tenant: 'tenantId',
  key: 'key',
  endpoint: 'endpointId',
  event: 'eventId',
  session: 'sessionId',
  device: 'deviceId',
  subject: 'subjectId',
  subjectRef: 'subjectRef',
}

const MAX_REASON = 200
const REASON = 'Why, for the audit log, which keeps it: a ticket number, and no data of a user'

/** The option `--reason` of a command that the audit log records. */
export const reasonOption = () =>
  new Option('--reason <text>', REASON).argParser((text: string) => {
    if (isDisplayText(text) && Array.from(text).length <= MAX_REASON) return text
    throw new InvalidArgumentError(`Expected 1 to ${MAX_REASON} visible characters.`)
  })

/** Lets every command below pass its call to `withService`, which records it. */
export function auditCommands(program: Command): void {
  for (const { path, command } of leavesOf(program)) {
    const isRecorded = (AUDIT_CLASSES[path] ?? 'neither') !== 'neither'
    const takesReason = command.options.some(({ long }) => long === '--reason')
    if (isRecorded && !takesReason) command.addOption(reasonOption())
  }
  program.hook('preAction', (_program, command) => {
    command.setOptionValue('audited', auditedCall(command))
  })
}

/**
 * The action of a command that opens the service itself.
 *
 * @throws {OperatorError} in production, if nothing names the operator
 */
export function actionOf(
  { audited }: { readonly audited?: CommandCall },
  config: Config,
): AuditedAction {
  if (audited === undefined) throw new TypeError('the command was not run by the program')
  return { ...audited.action, actor: namedOperator(config) }
}

/** @throws {OperatorError} in production, if it is recorded and nothing names the operator */
export function callOf(audited: CommandCall, config: Config): AuditedCall {
  const { auditClass, action } = audited
  return auditClass === 'neither'
    ? { auditClass, action }
    : { auditClass, action: actionOf({ audited }, config) }
}

/** @throws {Error} for a command that `AUDIT_CLASSES` lacks, before it has any effect */
function auditedCall(command: Command): CommandCall {
  const action = pathOf(command)
  const auditClass = AUDIT_CLASSES[action]
  if (auditClass === undefined) throw new Error(`AUDIT_CLASSES lacks "${action}"`)
  const options: Readonly<Record<string, unknown>> = command.opts()
  const named = {
    ...options,
    ...Object.fromEntries(
      command.registeredArguments.map((argument, index) => [
        argument.name(),
        command.processedArgs[index] as unknown,
      ]),
    ),
  }
  const target = Object.fromEntries(
    // An option of such a name can have another value, as `--event` has types of events.
    Object.entries(TARGETS).flatMap(([name, member]) =>
      typeof named[name] === 'string' && !isOperator(name, named[name])
        ? [[member, named[name]]]
        : [],
    ),
  ) as AuditTarget
  // `session rejections --reason` is another one.
  const takesReason = command.options.some(({ description }) => description === REASON)
  const reason = takesReason ? (options.reason as string | undefined) : undefined
  const requestId = makeId('req', systemRandom().id())
  return { auditClass, action: { action, requestId, target, reason } }
}

/** Whether the argument for a tenant names the operator. */
function isOperator(name: string, value: string): boolean {
  return name === 'tenant' && value === 'operator'
}

/** The words of a command without the name of the program. */
export function pathOf(command: Command): string {
  const { parent } = command
  return parent?.parent ? `${pathOf(parent)} ${command.name()}` : command.name()
}

/** The commands that do something, by their words. */
export function leavesOf(command: Command): readonly { path: string; command: Command }[] {
  return command.commands.flatMap((child) =>
    child.commands.length === 0 ? [{ path: pathOf(child), command: child }] : leavesOf(child),
  )
}
