import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const RUNTIMES = join(import.meta.dirname, 'runtimes')
/** Kept between runs, because the binaries are 400 MB. Their checksums are in the lockfile. */
const INSTALLED_RUNTIMES = join(ROOT, 'node_modules/.cache/pack-runtimes')

/**
 * Optional peers: of @bonded/attestation, which adds curves to Deno and Bun, and those of tools of
 * an MCP server.
 */
const PEERS = [
  '@noble/curves@2.4.0',
  '@modelcontextprotocol/sdk@1.32.2',
  '@modelcontextprotocol/server@2.4.0',
  'zod@4.6.7',
]

/**
 * Inherits nothing of the test's own process: no source condition, no test context, no npm
 * settings.
 */
export const ENVIRONMENT = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(?:NODE_|npm_|BONDED_|INIT_CWD)/.test(name) || name === 'NODE_EXTRA_CA_CERTS',
  ),
)

/** Of a reader with the Node that the guides ask for, and the packages that npm has stored. */
export const READER = {
  ...ENVIRONMENT,
  PATH: [dirname(process.execPath), ENVIRONMENT['PATH']].join(delimiter),
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
}

export interface CommandResult {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A folder that contains only the installed tarballs. */
export class EmptyFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'bonded-pack-'))
  readonly tarballs: readonly string[]
  /** What the dry run of a release printed. */
  readonly released: string

  /** Builds, packs, and checks every package as a release does, and installs the tarballs. */
  constructor() {
    const folder = join(this.path, 'tarballs')
    this.released = succeed(npm(['run', '--silent', 'release', '--', '--folder', folder], ROOT))
    // A bill of materials lies beside each tarball.
    this.tarballs = readdirSync(folder).filter((name) => name.endsWith('.tgz'))
    writeFileSync(join(this.path, 'package.json'), '{"private": true, "type": "module"}')
    const files = this.tarballs.map((name) => `./tarballs/${name}`)
    const install = ['install', '--ignore-scripts', '--prefer-offline', ...PEERS]
    succeed(npm([...install, ...files], this.path))
    cpSync(join(import.meta.dirname, 'consumer'), this.path, { recursive: true })
  }

  /**
   * Installs one tarball in a folder of its own, which the registry serves as it would serve a
   * stranger, and copies the programs of `consumer` there.
   */
  alone(name: string): { readonly path: string } & Pick<EmptyFolder, 'run'> & Disposable {
    const path = mkdtempSync(join(tmpdir(), 'bonded-alone-'))
    const tarball = this.tarballs.find((file) => file.startsWith(`bonded-${name}-`)) ?? ''
    writeFileSync(join(path, 'package.json'), '{"private": true, "type": "module"}')
    const file = join(this.path, 'tarballs', tarball)
    succeed(npm(['install', '--ignore-scripts', '--prefer-offline', file], path))
    cpSync(join(import.meta.dirname, 'consumer'), path, { recursive: true })
    return {
      path,
      run: (command, env) => run(command, { cwd: path, ...(env && { env }) }),
      [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
    }
  }

  /** Runs a program in the folder to its end. */
  run(command: readonly string[], env: Record<string, string> = {}): CommandResult {
    return run(command, { cwd: this.path, env })
  }

  /** Starts `bonded serve` with the installed bin under a runtime. */
  async serve(node: string): Promise<Served> {
    const data = mkdtempSync(join(this.path, 'data-'))
    // The service must know its port before it starts, because a phone signs its origin.
    const env = { BONDED_DATA_DIR: data, BONDED_PORT: String(await freePort()) }
    const origin = `http://localhost:${env.BONDED_PORT}`
    const child = spawn(node, [this.bin, 'serve', '--json'], {
      cwd: this.path,
      env: { ...ENVIRONMENT, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const exited = once(child, 'exit')
    const [line] = (await Promise.race([
      once(createInterface(child.stdout), 'line'),
      exited.then(([code]) => assert.fail(`bonded serve ended with ${code}`)),
    ])) as [string]
    assert.equal((JSON.parse(line) as { ready: string }).ready, origin)
    return {
      origin,
      bonded: (...args) => this.run([node, this.bin, ...args], env),
      async [Symbol.asyncDispose]() {
        child.kill('SIGTERM')
        await exited
      },
    }
  }

  get bin(): string {
    return join(this.path, 'node_modules/.bin/bonded')
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

export interface Served extends AsyncDisposable {
  readonly origin: string
  readonly bonded: (...args: string[]) => CommandResult
}

/** The command of each other runtime; undefined when it is not available here. */
export function runtimes(): Readonly<Record<'node-22' | 'deno' | 'bun', string[]>> | undefined {
  const lock = readFileSync(join(RUNTIMES, 'package-lock.json'), 'utf8')
  const installedLock = join(INSTALLED_RUNTIMES, 'package-lock.json')
  const isInstalled = () =>
    existsSync(installedLock) &&
    readFileSync(installedLock, 'utf8') === lock &&
    existsSync(join(INSTALLED_RUNTIMES, 'node_modules/deno'))
  if (!isInstalled()) {
    rmSync(INSTALLED_RUNTIMES, { recursive: true, force: true })
    cpSync(RUNTIMES, INSTALLED_RUNTIMES, { recursive: true })
    npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund'], INSTALLED_RUNTIMES)
    if (!isInstalled()) return undefined
  }
  const at = (path: string) => join(INSTALLED_RUNTIMES, 'node_modules', path)
  return {
    'node-22': [at('node-22/bin/node')],
    deno: [at('deno/deno'), 'run', '--allow-all'],
    bun: [at('bun/bin/bun')],
  }
}

/** Runs a program and returns its output. Fails when the program does. */
export function succeed({ status, stdout, stderr }: CommandResult): string {
  assert.equal(status, 0, `${stdout}\n${stderr}`)
  return stdout
}

/** The compiler of the repository. */
export const COMPILER = join(ROOT, 'node_modules/typescript/bin/tsc')
export const TYPE_ROOTS = join(ROOT, 'node_modules/@types')

function npm(args: readonly string[], cwd: string): CommandResult {
  return run(['npm', ...args], { cwd })
}

function run(
  [command = '', ...args]: readonly string[],
  { cwd, env = {} }: { cwd: string; env?: Record<string, string> },
): CommandResult {
  return spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: { ...ENVIRONMENT, ...env },
    timeout: 900_000,
  })
}
