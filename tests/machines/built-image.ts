import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { copyRepository, isBuilt, ROOT } from './copy-repository.ts'
import { debianRoot, DISTROLESS } from './debian-root.ts'
import { USER } from './isolated.ts'
import { npmSettings } from './npm-settings.ts'

/** What the build uses of the official image of Node. */
const NODE_IMAGE = ['base-files', 'ca-certificates', 'coreutils', 'dash', 'libstdc++6', 'sed']

const PASSWD = `root:x:0:0:root:/root:/sbin/nologin
nonroot:x:${USER}:${USER}:nonroot:/home/nonroot:/sbin/nologin
`

interface ImageConfig {
  readonly User: string
  readonly StopSignal: string
  readonly Env: readonly string[]
  readonly Entrypoint: readonly string[]
  readonly Cmd: readonly string[]
  readonly Healthcheck: { readonly Test: readonly string[] }
}

const VERSION = /NODE_VERSION=(.+)/.exec(readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8'))?.[1]

/** An image that the Dockerfile begins with. */
interface Base {
  readonly name: string
  /** Writes its files to a new folder. */
  readonly make: (root: string) => void
}

/** Of the same Debian packages. */
export const NODE_BASE: Base = {
  name: `docker.io/library/node:${VERSION}-bookworm-slim`,
  make(root) {
    copyRoot(NODE_IMAGE, root)
    addNode(root)
  },
}
export const LAST_BASE: Base = {
  name: 'gcr.io/distroless/cc-debian12:nonroot',
  make(root) {
    copyRoot(DISTROLESS, root)
    describePackages(root)
  },
}

function copyRoot(packages: readonly string[], root: string): void {
  cpSync(debianRoot(packages), root, { recursive: true, verbatimSymlinks: true })
  writeFileSync(join(root, 'etc/passwd'), PASSWD)
}

/** The image of `deploy/Dockerfile`. */
export interface BuiltImage extends Disposable {
  /** A folder that every user enters, but in which only root lists and writes. */
  readonly work: string
  /** Its files, all of which belong to root. */
  readonly root: string
  /** The owner and the mode that a new volume gets. */
  readonly data: Pick<Stats, 'uid' | 'gid' | 'mode'>
  readonly config: ImageConfig
  readonly history: string
  /** The version of Node that the Dockerfile names. */
  readonly node: string | undefined
}

/** Builds the image as the guide says, on base images of the same Debian packages. */
export function buildImage(): BuiltImage {
  const work = mkdtempSync(join(tmpdir(), 'bonded-image-'))
  chmodSync(work, 0o711)
  const dispose = () => {
    // The storage of buildah is a mount of its own.
    spawnSync('umount', ['--recursive', join(work, 'images/overlay')])
    rmSync(work, { recursive: true, force: true })
  }
  try {
    return { work, ...buildIn(work), [Symbol.dispose]: dispose }
  } catch (failure) {
    dispose()
    throw failure
  }
}

function buildIn(work: string): Omit<BuiltImage, 'work' | keyof Disposable> {
  const buildah = (...args: string[]) =>
    execFileSync(
      'buildah',
      ['--root', join(work, 'images'), '--runroot', join(work, 'run'), ...args],
      {
        encoding: 'utf8',
        env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
        maxBuffer: 2 ** 26,
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    ).trim()

  for (const { name, make } of [NODE_BASE, LAST_BASE]) {
    const root = join(work, 'base')
    make(root)
    const container = buildah('from', 'scratch')
    buildah('add', '--quiet', container, root, '/')
    buildah('commit', '--quiet', '--rm', container, name)
    rmSync(root, { recursive: true })
  }

  const context = join(work, 'context')
  copyRepository(context, isBuilt)
  const settings = join(work, 'npmrc')
  writeFileSync(settings, npmSettings())
  const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
  buildah(
    'build',
    '--pull-never',
    '--isolation=chroot',
    // Without it, the image has no health check.
    '--format=docker',
    '--quiet',
    `--volume=${settings}:/root/.npmrc:ro`,
    `--volume=${cache}:/root/.npm`,
    '--volume=/etc/ssl/certs:/etc/ssl/certs:ro',
    '--file=deploy/Dockerfile',
    '--tag=bonded',
    context,
  )
  const container = buildah('from', '--pull-never', 'bonded')
  const root = join(work, 'root')
  const mounted = buildah('mount', container)
  const data = statSync(join(mounted, 'data'))
  cpSync(mounted, root, { recursive: true, verbatimSymlinks: true })
  buildah('umount', container)
  const inspect = (...args: string[]) => buildah('inspect', '--type', 'image', ...args, 'bonded')
  const { Docker } = JSON.parse(inspect()) as { readonly Docker: { readonly config: ImageConfig } }
  return {
    root,
    data,
    config: Docker.config,
    history: inspect('--format', '{{.History}}'),
    node: VERSION,
  }
}

/** The Node of the lockfile, and the npm of this machine. */
function addNode(root: string): void {
  const bin = join(root, 'usr/local/bin')
  mkdirSync(bin, { recursive: true })
  cpSync(realpathSync(process.execPath), join(bin, 'node'))
  // `npm root --global` would name the folder of the Node that runs it, which may have no npm.
  const which = () => execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()
  const npm = dirname(dirname(realpathSync(process.env['npm_execpath'] ?? which())))
  cpSync(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true })
  for (const name of ['npm', 'npx'])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(bin, name))
  if (!existsSync(join(root, 'bin/sh'))) symlinkSync('dash', join(root, 'bin/sh'))
}

/** It has the descriptions of its packages, and none of their programs. */
function describePackages(root: string): void {
  const described = join(root, 'var/lib/dpkg/status.d')
  mkdirSync(described, { recursive: true })
  for (const name of DISTROLESS) {
    const fields = ['Package: ' + name, 'Version: 1:2.3+deb12u4', 'Architecture: amd64']
    writeFileSync(join(described, name), `${fields.join('\n')}\n`)
    writeFileSync(join(described, `${name}.md5sums`), '')
  }
  for (const programs of ['usr/bin', 'usr/sbin']) rmSync(join(root, programs), { recursive: true })
}
