import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import type { AuditActor } from '@bonded/core/domain/audit'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { programEnvironment } from '@bonded/server/adapters/programs/program'
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

/** A user namespace of the caller shows every user under a number that the caller chose. */
const ALL_USERS = /^\s*0\s+0\s+4294967295$/
/** Users can make the groups below `user@<uid>.service`, and only root those of sessions. */
const SESSION = /^\d+:(?:name=systemd)?:\/user\.slice\/user-\d+\.slice\/session-([^/]+)\.scope$/m

/**
 * Names the operator of this command from what its caller cannot choose. PAM sets the login uid
 * once for each login, and the kernel gives it to every process below, across sudo and su. A
 * process without a login can set it once, so a name that no session of logind confirms says so,
 * and a stated one replaces it. A variable of sudo counts for root only, because another account
 * can set it without sudo. The address is the one that logind has for the session of the process.
 */
export function localOperator({ operator }: Pick<Config, 'operator'>): LocalOperator {
  const isNumberedByRoot = ALL_USERS.test(contentOf('/proc/self/uid_map') ?? '')
  const login = isNumberedByRoot ? uidIn(contentOf('/proc/self/loginuid')) : undefined
  const ofLogin = login === undefined ? undefined : loginSession()
  const session = ofLogin?.['User'] === String(login) ? ofLogin : undefined
  const address = session?.['RemoteHost'] || hostname()
  const of = (origin: Origin, name: string): LocalOperator => ({
    actor: { kind: 'operator', name, address },
    origin,
  })
  if (login !== undefined && session) return of('login', shownUser(login, session))
  const isRoot = isNumberedByRoot && process.getuid?.() === 0
  const sudo = isRoot ? uidIn(process.env['SUDO_UID']) : undefined
  if (sudo !== undefined) return of('sudo', `${shownUser(sudo)} by sudo`)
  if (login !== undefined && operator === undefined)
    return of('login', `${shownUser(login)} without a session`)
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

/** The session of logind with this process, by its cgroup. */
function loginSession(): Readonly<Record<string, string>> | undefined {
  const [, id] = SESSION.exec(contentOf('/proc/self/cgroup') ?? '') ?? []
  if (id === undefined) return undefined
  try {
    const args = ['show-session', '-pUser', '-pName', '-pRemoteHost', id]
    const lines = execFileSync('/usr/bin/loginctl', args, {
      encoding: 'utf8',
      env: programEnvironment(),
      stdio: 'pipe',
      timeout: LOGINCTL_TIMEOUT_MS,
    }).split('\n')
    return Object.fromEntries(lines.map((line) => line.split('=')))
  } catch {
    // Without logind the address is unknown.
    return undefined
  }
}

/** The number is what the kernel knows. A name can be another account's later. */
function shownUser(uid: number, session?: Readonly<Record<string, string>>): string {
  const [, listed] =
    new RegExp(`^([^:]+):[^:]*:${uid}:`, 'm').exec(contentOf('/etc/passwd') ?? '') ?? []
  const name = session?.['Name'] ?? listed
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
