import { StoreError, type StoreFailure } from '@bonded/core/ports/store'

/** How a failed statement is dealt with. */
export type ErrorClass =
  /** The transaction lost against another one and can run again. */
  | 'conflict'
  /** The connection is gone. What was sent may have taken effect. */
  | 'lost'
  /** The server rejects the work for now. */
  | 'outage'
  /** The program is wrong. */
  | 'defect'

/** The SQLSTATE of a connection that failed. */
const CONNECTION_FAILED = '08006'

/** Fails the statements on a connection that the service itself closes. */
export class ClosedConnection extends Error {
  override readonly name = 'ClosedConnection'
  readonly code = CONNECTION_FAILED
}

/** SQLSTATE codes, by their first characters; the longest match decides. */
const BY_STATE: Readonly<Record<string, readonly [ErrorClass, StoreFailure, string]>> = {
  '08': ['lost', 'unreachable', 'the connection was lost'],
  '23505': ['conflict', 'locked', 'another node stored the same key'],
  '25006': ['outage', 'read_only', 'the server is read-only'],
  '25P03': ['lost', 'unreachable', 'the server ended an idle transaction'],
  '28': ['outage', 'rejected', 'the server rejected the user or the password'],
  '3D': ['outage', 'rejected', 'the database does not exist'],
  '40': ['conflict', 'locked', 'another node changed the same rows'],
  '42501': ['outage', 'rejected', 'the user may not do that'],
  '53': ['outage', 'busy', 'the server lacks resources'],
  '53100': ['outage', 'full', 'the disk is full'],
  '55000': ['outage', 'read_only', 'the server is not a primary yet'],
  '55P03': ['conflict', 'locked', 'a lock was not free in time'],
  '57': ['outage', 'busy', 'the server canceled the statement'],
  '57P': ['lost', 'unreachable', 'the server stops or starts'],
  '58': ['outage', 'input_output', 'the disk failed'],
  XX: ['outage', 'damaged', 'the server found damaged data'],
}

interface Classified {
  readonly kind: ErrorClass
  readonly failure: StoreFailure
  readonly text: string
}

const DEFECT: Classified = { kind: 'defect', failure: 'input_output', text: '' }
const OUTDATED: Classified = {
  kind: 'conflict',
  failure: 'locked',
  text: 'another program changed the schema',
}
const LOST: Classified = {
  kind: 'lost',
  failure: 'unreachable',
  text: 'it cannot be reached',
}

/** Classifies an error of the driver. */
export function classify(cause: unknown): Classified {
  if (!(cause instanceof Error)) return DEFECT
  if (isOutdatedStatement(cause)) return OUTDATED
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : undefined
  // A SQLSTATE has five characters. The codes of the system, such as ECONNREFUSED, have more or
  // begin with E.
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code) || code.startsWith('E'))
    return isOfConnection(cause, code) ? LOST : DEFECT
  for (let length = code.length; length > 0; length--) {
    const found = BY_STATE[code.slice(0, length)]
    if (found !== undefined) return { kind: found[0], failure: found[1], text: found[2] }
  }
  return DEFECT
}

/** Whether a prepared statement returns other columns since another program changed the schema. */
export function isOutdatedStatement(cause: unknown): boolean {
  return cause instanceof Error && 'routine' in cause && cause.routine === 'RevalidateCachedQuery'
}

/** The driver reports a lost connection and its own time-outs by message only. */
function isOfConnection({ message }: Error, code: string | undefined): boolean {
  // ECONNREFUSED, CERT_HAS_EXPIRED and the like, and of Node those of a socket that has ended.
  if (code !== undefined) return /^(?!ERR_(?!TLS|SSL|STREAM|SOCKET))[A-Z][A-Z_]+$/.test(code)
  return /connection|timeout|not queryable|pool after calling end|does not support SSL/i.test(
    message,
  )
}

/** The codes of Node for a certificate that no trusted authority has signed. */
const UNKNOWN_AUTHORITY: readonly unknown[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]

/** `prepared statement … already exists` and `… does not exist`. */
const LOST_PREPARED: readonly unknown[] = ['42P05', '26000']

/** What the operator must change for the server to be usable, by the failures that show it. */
function setupProblem(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined
  const { message } = cause
  const code = 'code' in cause ? cause.code : undefined
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = 'cert' in cause ? (cause.cert as { subjectaltname?: string }).subjectaltname : ''
    return `its certificate names other hosts (${names ?? 'none'}). Set BONDED_DATABASE_URL to the server by one of them, or give the server a certificate with the name in BONDED_DATABASE_URL.`
  }
  if (UNKNOWN_AUTHORITY.includes(code))
    return 'this machine does not trust the authority of its certificate. Add sslrootcert=<file> to BONDED_DATABASE_URL, with the certificate of the authority.'
  if (code === 'CERT_HAS_EXPIRED')
    return 'its certificate has expired. Renew it at the server, and reload the server.'
  // Its SQLSTATE, 55000, is also that of a server that is not a primary.
  if ('routine' in cause && cause.routine === 'CheckCmdReplicaIdentity')
    return `a publication includes a table without a replica identity, from which it lets no row be deleted (${message}). Give the table its primary key again: alter table <table> replica identity default. Or remove it from the publication.`
  if (LOST_PREPARED.includes(code))
    return 'a pooler in front of it does not keep prepared statements. Set BONDED_DATABASE_PREPARED=off, or max_prepared_statements = 200 in PgBouncer 1.21 or later.'
  if (message.includes('does not support SSL'))
    return 'it offers no TLS. Set ssl = on at the server, with a certificate. In a network that you trust, add sslmode=disable to BONDED_DATABASE_URL instead.'
  return undefined
}

/** Converts an outage into a `StoreError` and returns any other error unchanged. */
export function asStoreError(
  cause: unknown,
  { to, where }: { to: 'open' | 'read' | 'write'; where: string },
): unknown {
  if (cause instanceof StoreError) return cause
  const problem = setupProblem(cause)
  if (problem !== undefined)
    return new StoreError(`${where} cannot be used: ${problem}`, { kind: 'unsuitable', where })
  const { kind, failure, text } = classify(cause)
  if (kind === 'defect') return cause
  const given = { kind: failure, where, isServer: true, cause }
  return new StoreError(`the store refused to ${to}: ${text}`, given)
}
