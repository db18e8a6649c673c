import { readFileSync, statSync } from 'node:fs'

/** One of the servers that may have the database. */
export interface DatabaseHost {
  readonly host: string
  readonly port: number
}

/** How to reach a PostgreSQL database. */
export interface DatabaseAddress {
  /** A primary and its standbys, in the order of the URL; at least one. */
  readonly hosts: readonly DatabaseHost[]
  readonly database: string
  readonly user: string
  /** Undefined: `PGPASSWORD`, if it is set. */
  readonly password: string | undefined
  /** False for a local server without parameters of TLS, or with `sslmode=disable`. */
  readonly tls: false | { readonly rejectUnauthorized: true; readonly ca?: string }
  /** The address without the password, for messages. */
  readonly shown: string
}

const DEFAULT_PORT = 5_432
const LOCAL = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/
const PARAMETERS: readonly string[] = ['sslmode', 'sslrootcert', 'target_session_attrs']
/** What other programs call the only server that the service accepts. */
const PRIMARY: readonly (string | null)[] = [null, 'read-write', 'primary']
/**
 * Scheme, user, list of hosts, and the rest. A host has no `@`, so the last one ends the user. One
 * in the path is of a password with a character that must be encoded, such as `/`.
 */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]+)([^?#@]*(?:[?#].*)?)$/s

/**
 * Parses `postgres://user:password@host:port/database`, with several hosts separated by commas. A
 * server on another machine is reached by verified TLS only, unless `sslmode=disable` is given. So
 * is a local one if `sslrootcert` names the file of the certificate authority; by default those of
 * Node are trusted. `PGSSLMODE` and `PGSSLROOTCERT` replace absent parameters,
 * as in other clients of PostgreSQL.
 *
 * @returns undefined if the URL is not valid, has an unknown parameter, names a file without a
 *   certificate, or disables TLS with an authority
 */
export function parseDatabaseUrl(
  text: string,
  env: Readonly<NodeJS.ProcessEnv> = process.env,
): DatabaseAddress | undefined {
  const [, before = '', list = '', rest = ''] = PARTS.exec(text) ?? []
  const urls = list.split(',').map((each) => URL.parse(before + each + rest))
  const hosts = urls.map((each) => (each === null ? undefined : hostOf(each)))
  const [url] = urls
  if (!url || !hosts.every((each) => each !== undefined)) return undefined
  const given = url.searchParams
  const sslmode = given.get('sslmode') ?? (env.PGSSLMODE || null)
  const isDisabled = given.get('sslmode') === 'disable'
  const caFile = given.get('sslrootcert') ?? ((!isDisabled && env.PGSSLROOTCERT) || null)
  const database = decoded(url.pathname.slice(1))
  const user = decoded(url.username)
  const password = decoded(url.password)
  if (!database || !user || password === undefined || url.hash !== '') return undefined
  if ([...given.keys()].some((name) => !PARAMETERS.includes(name))) return undefined
  if (!PRIMARY.includes(given.get('target_session_attrs'))) return undefined
  if (sslmode !== null && !['disable', 'verify-full'].includes(sslmode)) return undefined
  const ca = caFile === null ? undefined : authorityIn(caFile)
  if (caFile !== null && (sslmode === 'disable' || ca === undefined)) return undefined
  const isLocal = urls.every((each) => LOCAL.test(each?.hostname ?? ''))
  const encrypted = sslmode === null ? !isLocal || caFile !== null : sslmode === 'verify-full'
  return {
    hosts,
    database,
    user,
    password: password === '' ? undefined : password,
    tls: encrypted && { rejectUnauthorized: true, ...(ca && { ca }) },
    shown: shownAt({ database }, hosts),
  }
}

/** Without a certificate in it, Node would trust its own list. */
function authorityIn(file: string): string | undefined {
  const text = statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, 'utf8') : ''
  return text.includes('CERTIFICATE-----') ? text : undefined
}

/** Names a database on some of its servers, for messages. */
export function shownAt(
  { database }: Pick<DatabaseAddress, 'database'>,
  hosts: readonly DatabaseHost[],
): string {
  const servers = hosts.map(({ host, port }) => `${host}:${port}`).join(',')
  return `PostgreSQL database ${database} at ${servers}`
}

function hostOf({ hostname, port }: URL): DatabaseHost | undefined {
  if (hostname === '') return undefined
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return { host, port: port === '' ? DEFAULT_PORT : Number(port) }
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
