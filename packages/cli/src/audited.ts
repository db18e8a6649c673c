import { hostname, userInfo } from 'node:os'
import { isIP } from 'node:net'
import { isDisplayText, makeId } from '@bonded/contract'
import type { AuditActor, AuditClass, AuditedAction, AuditTarget } from '@bonded/core/domain/audit'
import { systemRandom } from '@bonded/server/adapters/keys/random'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { AUDIT_CLASSES } from './audit-classes.ts'

/** How the audit log sees the call of a command. */
export interface AuditedCall {
  readonly auditClass: AuditClass
  readonly action: AuditedAction
}

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

/** The action of a command that opens the service itself. */
export function actionOf({ audited }: { readonly audited?: AuditedCall }): AuditedAction {
  if (audited === undefined) throw new TypeError('the command was not run by the program')
  return audited.action
}

/** @throws {Error} for a command that `AUDIT_CLASSES` lacks, before it has any effect */
function auditedCall(command: Command): AuditedCall {
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
  return { auditClass, action: { action, actor: localActor(), requestId, target, reason } }
}

/** Whether the argument for a tenant names the operator. */
function isOperator(name: string, value: string): boolean {
  return name === 'tenant' && value === 'operator'
}

/** The user of the operating system, and the address of the SSH connection or the host. */
function localActor(env: NodeJS.ProcessEnv = process.env): AuditActor {
  const [client = ''] = (env['SSH_CONNECTION'] ?? '').split(' ')
  const sudo = env['SUDO_USER']
  const name = userName()
  return {
    kind: 'operator',
    name: sudo && isDisplayText(sudo) ? `${name} (sudo by ${sudo.slice(0, 64)})` : name,
    address: isIP(client) === 0 ? hostname() : client,
  }
}

/** A container can run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** The words of a command without the name of the program. */
function pathOf(command: Command): string {
  const { parent } = command
  return parent?.parent ? `${pathOf(parent)} ${command.name()}` : command.name()
}

/** The commands that do something, by their words. */
export function leavesOf(command: Command): readonly { path: string; command: Command }[] {
  return command.commands.flatMap((child) =>
    child.commands.length === 0 ? [{ path: pathOf(child), command: child }] : leavesOf(child),
  )
}
