import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { copyRepository } from './copy-repository.ts'
import { debianRoot } from './debian-root.ts'
import { isolated, USER } from './isolated.ts'
import { npmSettings } from './npm-settings.ts'

/** What Node needs, and what npm needs to reach its registry. */
export const DEBIAN = ['ca-certificates', 'libstdc++6']
const HOME = '/home/stranger'
const ENDS_WITHIN_MS = 60_000

/**
 * Runs a command in a process group of its own. After a line on stdin, sends SIGTERM to its
 * process, or to the group if `$0` is `-`. It ends when the last process that writes to the
 * command's output has ended. Without this, the end of the command would end the others too,
 * because they share a process namespace.
 */
const SIGNALED = `mkfifo /tmp/output; setsid "$@" > /tmp/output & started=$!
cat /tmp/output & reading=$!
read -r line; kill -s TERM -- "$0$started"; wait "$reading"; rm /tmp/output`

/** A machine with a clone of the repository, and with a Node and an npm of its own. */
export interface Stranger extends Disposable {
  /** The folder outside the machine that has the repository. */
  readonly repository: string
  /** The folder outside the machine that is its `/tmp`. */
  readonly temporary: string
  /** Runs a command to its end. */
  readonly finish: (command: readonly string[], env?: readonly string[]) => SpawnSyncReturns<string>
  /** Starts what serves, acts, and signals the started process, which is npm, alone if it can. */
  readonly signaled: (options: {
    readonly command: readonly string[]
    readonly env: readonly string[]
    readonly ready: RegExp
    readonly act: () => Promise<void>
  }) => Promise<void>
}

/**
 * A minimal Debian with an account.
 *
 * @param options.node the version of Node
 * @param options.npm the version of npm
 * @param options.debian what it has beside the essential packages
 * @param options.cache a folder for what npm has downloaded, which other machines use too
 */
export function stranger(options: {
  readonly node: string
  readonly npm: string
  readonly debian: readonly string[]
  readonly cache: string
}): Stranger {
  const work = mkdtempSync(join(tmpdir(), 'bonded-stranger-'))
  chmodSync(work, 0o711)
  const [root, home, temporary] = ['root', 'home', 'tmp'].map((name) => join(work, name)) as [
    string,
    string,
    string,
  ]
  makeRoot(root, options.debian)
  makeHome(home, work, [`node-linux-${process.arch}@${options.node}`, `npm@${options.npm}`])
  mkdirSync(temporary)
  const own = [home, temporary, options.cache]
  execFileSync('chown', ['-R', `${USER}:${USER}`, ...own])
  const run = (command: readonly string[], env: readonly string[] = []) =>
    isolated({
      root,
      mounts: [['/etc/ssl/certs', '/etc/ssl/certs']],
      writable: [
        [home, HOME],
        [temporary, '/tmp'],
        [options.cache, `${HOME}/.npm`],
      ],
      folder: `${HOME}/repository`,
      env: [
        `HOME=${HOME}`,
        `PATH=${HOME}/node/bin:/usr/bin:/bin`,
        // Its offset from UTC is 12:45 or 13:45.
        'TZ=Pacific/Chatham',
        'LANG=C',
        ...['NODE_EXTRA_CA_CERTS'].flatMap((name) => {
          const value = process.env[name]
          return value === undefined ? [] : [`${name}=${value}`]
        }),
        ...env,
      ],
      command,
    })
  // npm 9 catches SIGTERM, passes it to no process, and goes on. A terminal signals the group.
  const group = options.npm.startsWith('9.') ? '-' : ''
  return {
    repository: join(home, 'repository'),
    temporary,
    finish: (command, env) =>
      spawnSync('setpriv', run(command, env), { encoding: 'utf8', maxBuffer: 2 ** 26 }),
    async signaled({ command, env, ready, act }) {
      const started = spawn('setpriv', run(['sh', '-c', SIGNALED, group, ...command], env))
      try {
        const errors = text(started.stderr)
        let printed = ''
        const ended = new Promise((done) => started.stdout.once('end', done))
        const isReady = new Promise<void>((done) => {
          started.stdout.on('data', (chunk) => {
            printed += String(chunk)
            if (ready.test(printed)) done()
          })
        })
        await Promise.race([isReady, ended])
        assert.match(printed, ready, started.exitCode === null ? printed : printed + (await errors))
        await act()
        let isLeft = false
        const deadline = setTimeout(() => {
          isLeft = true
          started.kill('SIGKILL')
        }, ENDS_WITHIN_MS)
        started.stdin.end('stop\n')
        await ended
        clearTimeout(deadline)
        assert.equal(isLeft, false, `${command.join(' ')} did not stop`)
        assert.doesNotMatch(await errors, /error/i)
      } finally {
        started.kill('SIGKILL')
      }
    },
    [Symbol.dispose]: () => rmSync(work, { recursive: true, force: true }),
  }
}

function makeRoot(root: string, debian: readonly string[]): void {
  cpSync(debianRoot(debian, 'essential'), root, { recursive: true, verbatimSymlinks: true })
  mkdirSync(join(root, HOME), { recursive: true })
  appendFileSync(join(root, 'etc/passwd'), `stranger:x:${USER}:${USER}::${HOME}:/bin/sh\n`)
  for (const file of ['etc/hosts', 'etc/resolv.conf']) {
    rmSync(join(root, file), { force: true })
    copyFileSync(`/${file}`, join(root, file))
  }
}

/** The account's folder, with Node, npm, and the repository without the folders beside it. */
function makeHome(home: string, work: string, packages: readonly string[]): void {
  copyRepository(join(home, 'repository'))
  writeFileSync(join(home, '.npmrc'), npmSettings())
  execFileSync('npm', ['pack', '--silent', '--pack-destination', work, ...packages], { cwd: work })
  for (const name of ['node', 'npm']) {
    mkdirSync(join(home, name), { recursive: true })
    const [tarball = ''] = globSync(`${name}-*.tgz`, { cwd: work })
    const into = ['-C', join(home, name), '--strip-components=1']
    execFileSync('tar', ['-xzf', join(work, tarball), ...into])
  }
  for (const name of ['npm', 'npx'])
    symlinkSync(`../../npm/bin/${name}-cli.js`, join(home, 'node/bin', name))
}
