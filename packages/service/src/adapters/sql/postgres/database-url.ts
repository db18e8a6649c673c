import { existsSync, readFileSync } from 'node:fs'

/** How to reach a PostgreSQL database. */
export interface DatabaseAddress {
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string
  /** Undefined: `PGPASSWORD`, if it is set. */
  readonly password: string | undefined
  /** False only for a local server, or where the URL says `sslmode=disable`. */
  readonly tls: false | { readonly rejectUnauthorized: true; readonly ca?: string }
  /** The address without the password, for messages. */
  readonly shown: string
}

const DEFAULT_PORT = 5_432
const LOCAL = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/
const PARAMETERS: readonly string[] = ['sslmode', 'sslrootcert']

/**
 * Parses `postgres://user:password@host:port/database`. A server on another machine is reached by
 * verified TLS only, unless `sslmode=disable` is given. `sslrootcert` names the file of the
 * certificate authority; by default the authorities of the system are trusted.
 *
 * @returns undefined if the URL is not valid, has an unknown parameter, or names a file that does
 *   not exist
 */
export function parseDatabaseUrl(text: string): DatabaseAddress | undefined {
  if (!/^postgres(ql)?:\/\//.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const given = url.searchParams
  const sslmode = given.get('sslmode')
  const caFile = given.get('sslrootcert')
  const database = decoded(url.pathname.slice(1))
  const user = decoded(url.username)
  const password = decoded(url.password)
  if (!url.hostname || !database || !user || password === undefined || url.hash !== '')
    return undefined
  if ([...given.keys()].some((name) => !PARAMETERS.includes(name))) return undefined
  if (sslmode !== null && !['disable', 'verify-full'].includes(sslmode)) return undefined
  if (caFile !== null && !existsSync(caFile)) return undefined
  const encrypted = sslmode === null ? !LOCAL.test(url.hostname) : sslmode === 'verify-full'
  const ca = caFile === null ? {} : { ca: readFileSync(caFile, 'utf8') }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port)
  return {
    host,
    port,
    database,
    user,
    password: password === '' ? undefined : password,
    tls: encrypted && { rejectUnauthorized: true, ...ca },
    shown: `PostgreSQL database ${database} at ${host}:${port}`,
  }
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}
