import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type Ended,
  enterRoot,
  firstProcessOf,
  must,
  PACKAGES as SERVER,
  runIn,
} from '../deploy/booted-machine.ts'
import { until } from '../harness/process.ts'
import { LAST_BASE, NODE_BASE } from './built-image.ts'
import { copyRepository, isBuilt } from './copy-repository.ts'
import { debianRoot, rootsMissing } from './debian-root.ts'

/** Debian 13 is the first release with Compose 2 and BuildKit. */
const PACKAGES = 'docker.io docker-cli docker-compose docker-buildx iptables mount openssl'.split(
  ' ',
)
const WITHIN_MS = 300_000

/** What the official image of PostgreSQL does with a new volume, and then at each start. */
const ENTRY = `#!/bin/bash
set -eu
as() { setpriv --reuid postgres --regid postgres --init-groups "$@"; }
install -d -o postgres /run/postgresql
if [ ! -e "$PGDATA/PG_VERSION" ]; then
  install -d -o postgres -m 0700 "$PGDATA"
  as initdb --username=postgres --auth-local=trust --auth-host=scram-sha-256
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  as pg_ctl start --wait --options='-c listen_addresses='
  . /docker-entrypoint-initdb.d/*.sh
  as pg_ctl stop --mode=fast
fi
exec setpriv --reuid postgres --regid postgres --init-groups "$@" -c listen_addresses='*'
`
/** An image that comes from a registry. */
interface Image {
  readonly name: string
  /** Writes to an empty folder what it needs, and returns the arguments of tar for its files. */
  readonly files: (folder: string) => readonly string[]
  readonly changes?: readonly string[]
}

/** The images of the Dockerfile, and that of Compose. */
const IMAGES: readonly Image[] = [
  {
    name: NODE_BASE.name,
    // The machine has no network, so npm takes the packages that it has stored on this one.
    files(folder) {
      NODE_BASE.make(folder)
      writeFileSync(join(folder, 'root/.npmrc'), 'offline=true\n')
      const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
      const moved = '--transform=s|^_cacache|root/.npm/_cacache|'
      // Other tests download to `tmp`, and move what they have from there.
      return [moved, '--exclude=_cacache/tmp', '-C', folder, '.', '-C', cache, '_cacache']
    },
  },
  {
    name: LAST_BASE.name,
    files(folder) {
      LAST_BASE.make(folder)
      return ['-C', folder, '.']
    },
  },
  {
    name: 'postgres:18-bookworm',
    // The root of the booted machine has PostgreSQL.
    files(folder) {
      writeFileSync(join(folder, 'entry'), ENTRY, { mode: 0o755 })
      return ['-C', debianRoot(SERVER, 'essential'), '.', '-C', folder, 'entry']
    },
    changes: [
      'ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      'ENV PGDATA=/var/lib/postgresql/15/docker',
      'VOLUME /var/lib/postgresql',
      'ENTRYPOINT ["/entry"]',
      'CMD ["postgres"]',
    ],
  },
]

/** A machine with Docker, without a network, and a clone of the repository in `/srv`. */
export interface DockerMachine extends AsyncDisposable {
  /** Runs a script of bash as root in the clone. */
  readonly run: (script: string, input?: string | Buffer) => Promise<Ended>
}

/** Why this machine cannot start Docker, or `false`. */
export function dockerMissing(): string | false {
  const hasIp = spawnSync('ip', ['-V']).status === 0
  return rootsMissing('unshare', 'nsenter') || (!hasIp && 'no ip (apt-get install iproute2)')
}

/** Starts Docker with the images that the Dockerfile and Compose name. */
export async function startDocker(): Promise<DockerMachine> {
  const work = mkdtempSync(join(tmpdir(), 'bonded-docker-'))
  for (const folder of ['upper', 'work', 'root', 'docker', 'images']) mkdirSync(join(work, folder))
  const repository = join(work, 'repository')
  copyRepository(repository, isBuilt)
  const group = `bonded-docker-${process.pid}`
  // The images are layers of another overlay, which cannot be in an overlay.
  const boot = enterRoot(
    `mount -t sysfs sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mkdir -p var/lib/docker
mount --bind "$2/docker" var/lib/docker
mount --bind "$2/repository" srv
mount --bind "$2/images" mnt
ip link set lo up`,
    `dockerd --cgroup-parent=/${group} --log-level=warn`,
  )
  const own = '--fork --kill-child --pid --mount --uts --ipc --net'.split(' ')
  const root = debianRoot(PACKAGES, 'essential', 'trixie')
  const machine = spawn('unshare', [...own, 'sh', '-c', boot, 'sh', root, work], {
    stdio: 'inherit',
  })
  const ended = once(machine, 'exit')
  const run = (script: string, input?: string | Buffer) =>
    runIn(machine, `cd /srv\n${script}`, input)
  const stop = async () => {
    if (machine.exitCode === null) process.kill(Number(firstProcessOf(machine)), 'SIGKILL')
    await ended
    spawnSync('find', `/sys/fs/cgroup -depth -path */${group}* -type d -delete`.split(' '))
    rmSync(work, { recursive: true, force: true })
  }
  try {
    await until(async () => {
      const { status } = await run('docker info')
      return status === 0 || undefined
    }, WITHIN_MS)
    for (const { name, files, changes = [] } of IMAGES) {
      const folder = mkdtempSync(join(work, 'base-'))
      const archive = join(work, 'images/base.tar')
      const { status } = spawnSync('tar', ['-cf', archive, ...files(folder)], { stdio: 'inherit' })
      // 1 where a file changed meanwhile, as in npm’s cache, which checks what it reads.
      if (status !== 0 && status !== 1) throw new Error(`tar ended with ${status}`)
      rmSync(folder, { recursive: true })
      const words = changes.map((change) => `--change '${change}'`)
      await must(run(`docker import ${words.join(' ')} /mnt/base.tar ${name}; rm /mnt/base.tar`))
    }
  } catch (failure) {
    await stop()
    throw failure
  }
  return { run, [Symbol.asyncDispose]: stop }
}
