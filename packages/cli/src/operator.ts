import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import type { AuditActor } from '@bonded/core/domain/audit'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import type { Config } from '@bonded/server/settings/config'

/** What names the operator: the login of the kernel, sudo, the operator, or only the account. */
type Origin = 'login' | 'sudo' | 'stated' | 'account'

/** The operator of this command, and what names them. */
export interface LocalOperator {
  readonly actor: AuditActor
  readonly origin: Origin
}

/** What the kernel says of a process outside any login: a service, or a process of a container. */
const NO_LOGIN = 2 ** 32 - 1
const LOGINCTL_TIMEOUT_MS = 2_000

/**
 * Names the operator of this command from what its caller cannot choose. PAM sets the login uid
 * once for each login, and the kernel gives it to every process below, across sudo and su. A
 * variable of sudo counts for root only, because another account can set it without sudo. The
 * address is the one that logind has for the session of the process.
 */
export function localOperator({ operator }: Pick<Config, 'operator'>): LocalOperator {
  const session = loginSession()
  const address = session?.['RemoteHost'] || hostname()
  const of = (origin: Origin, name: string): LocalOperator => ({
    actor: { kind: 'operator', name, address },
    origin,
  })
  const login = uidIn(contentOf('/proc/self/loginuid'))
  if (login !== undefined) return of('login', shownUser(login, session))
  const sudo = process.getuid?.() === 0 ? uidIn(process.env['SUDO_UID']) : undefined
  if (sudo !== undefined) return of('sudo', `${shownUser(sudo)} by sudo`)
  return operator === undefined
    ? of('account', accountName())
    : of('stated', `${operator} (stated by ${accountName()})`)
}

/**
 * The operator of a command that the audit log records.
 *
 * @throws {OperatorError} in production, if only an account names the operator, which can be shared
 */
export function namedOperator(config: Pick<Config, 'operator' | 'environment'>): AuditActor {
  const { actor, origin } = localOperator(config)
  if (origin === 'account' && config.environment === 'production')
    throw new OperatorError(
      'The audit log records this command, and nothing names its operator: the process belongs to no login, as in a container, and sudo did not start it. Name yourself with --operator <name> or BONDED_OPERATOR',
      { code: 'invalid' },
    )
  return actor
}

/** The session of logind with this process, by its cgroup, which only root can change. */
function loginSession(): Readonly<Record<string, string>> | undefined {
  const [, id] = /\/session-([^/]+)\.scope/.exec(contentOf('/proc/self/cgroup') ?? '') ?? []
  if (id === undefined) return undefined
  try {
    const args = ['show-session', '-pUser', '-pName', '-pRemoteHost', id]
    const options = { encoding: 'utf8', timeout: LOGINCTL_TIMEOUT_MS, stdio: 'pipe' } as const
    const lines = execFileSync('/usr/bin/loginctl', args, options).split('\n')
    return Object.fromEntries(lines.map((line) => line.split('=')))
  } catch {
    // Without logind the address is unknown.
    return undefined
  }
}

/** The number is what the kernel knows. A name can be another account's later. */
function shownUser(uid: number, session?: Readonly<Record<string, string>>): string {
  const named = session?.['User'] === String(uid) ? session['Name'] : undefined
  const [, listed] =
    new RegExp(`^([^:]+):[^:]*:${uid}:`, 'm').exec(contentOf('/etc/passwd') ?? '') ?? []
  const name = named ?? listed
  return name === undefined ? `uid ${uid}` : `${name} (uid ${uid})`
}

/** The account of this process. A container can run as a user without a name. */
export function accountName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

function uidIn(text: string | undefined): number | undefined {
  const uid = /^\d{1,10}$/.test(text ?? '') ? Number(text) : NO_LOGIN
  return uid === NO_LOGIN ? undefined : uid
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return undefined
  }
}
