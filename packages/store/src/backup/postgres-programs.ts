import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import type { DatabaseAddress } from '../postgres/server/database-url.ts'
import { RESTORE_APPLICATION } from '../postgres/unfinished-restore.ts'
import { Cleanup } from './cleanup.ts'
import { BackupError } from './manifest.ts'

type Program = 'pg_dump' | 'pg_restore'

/** What the server shows of them. */
const APPLICATIONS = { pg_dump: 'bonded backup', pg_restore: RESTORE_APPLICATION } as const

/** What the system needs to load a program. The rest of the environment stays here. */
const INHERITED = ['PATH', 'LD_LIBRARY_PATH', 'SystemRoot', 'TMPDIR'] as const
const MAX_ERROR_CHARACTERS = 1_000

/** The programs `pg_dump` and `pg_restore` of PostgreSQL, for one database. */
export class PostgresPrograms {
  readonly #address: DatabaseAddress
  readonly #bin: string | undefined

  /** @param bin the folder of the programs. Default: those that PATH finds */
  constructor(address: DatabaseAddress, bin: string | undefined) {
    this.#address = address
    this.#bin = bin
  }

  /**
   * Checks that a program exists and is not older than the server, whose data it would not
   * understand.
   *
   * @throws {BackupError} with the fix
   */
  check(program: Program, serverMajor: number): void {
    const { error, stdout } = spawnSync(this.#pathOf(program), ['--version'], {
      encoding: 'utf8',
      env: inherited(),
    })
    const major = Number(/\(PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1])
    const fix = `Install the client programs of PostgreSQL ${serverMajor} (apt-get install postgresql-client-${serverMajor}), or name their folder with --postgres-bin.`
    if (error !== undefined || Number.isNaN(major))
      throw new BackupError(`The program ${this.#pathOf(program)} cannot be run. ${fix}`)
    if (major < serverMajor)
      throw new BackupError(
        `${this.#pathOf(program)} is of PostgreSQL ${major}, which is older than the server (${serverMajor}). ${fix}`,
      )
  }

  /**
   * Runs a program on the database. Its password and certificates are not on the command line,
   * which other users of the machine can read.
   *
   * @throws {BackupError} with the message of the program
   */
  async run(program: Program, args: readonly string[]): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'bonded-certificates-'))
    using cleanup = new Cleanup()
    cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
    const child = spawn(this.#pathOf(program), args, {
      env: { ...inherited(), ...this.#connection(folder), PGAPPNAME: APPLICATIONS[program] },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    cleanup.add(() => void child.kill())
    let errors = ''
    child.stderr.on('data', (text: unknown) => {
      errors = (errors + String(text)).slice(-MAX_ERROR_CHARACTERS)
    })
    const status = await new Promise<unknown>((resolve) => {
      child.once('close', resolve)
      child.once('error', resolve)
    })
    if (status !== 0)
      throw new BackupError(
        `${program} failed: ${errors.trim() || String(status)}. Use the programs of the version of the server, and check the rights of the user ${this.#address.user}.`,
      )
  }

  /** The settings of libpq. It trusts the authorities that the service trusts. */
  #connection(folder: string): Readonly<Record<string, string>> {
    const { hosts, database, user, password = process.env.PGPASSWORD, tls } = this.#address
    const authorities = join(folder, 'authorities.pem')
    if (tls !== false) writeFileSync(authorities, tls.ca ?? rootCertificates.join('\n'))
    return {
      PGHOST: hosts.map(({ host }) => host).join(','),
      PGPORT: hosts.map(({ port }) => port).join(','),
      PGTARGETSESSIONATTRS: 'read-write',
      PGDATABASE: database,
      PGUSER: user,
      ...(password === undefined ? {} : { PGPASSWORD: password }),
      // A server that does not respond must not block the command.
      PGCONNECT_TIMEOUT: '10',
      ...(tls === false
        ? { PGSSLMODE: 'disable' }
        : { PGSSLMODE: 'verify-full', PGSSLROOTCERT: authorities }),
    }
  }

  #pathOf(program: Program): string {
    return this.#bin === undefined ? program : join(this.#bin, program)
  }
}

function inherited(): Record<string, string> {
  const found = INHERITED.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return { ...Object.fromEntries(found), LC_MESSAGES: 'C' }
}
