import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../harness/process.ts'
import { debianRoot, rootsMissing } from '../machines/debian-root.ts'

/** What the guides expect of a server. */
export const PACKAGES =
  'systemd systemd-sysv dbus libpam-systemd sudo openssh-server openssh-client postgresql openssl curl nginx age'.split(
    ' ',
  )

/**
 * Enters the root of a machine, as its first process. The root `$1` is below an overlay in the
 * folder `$2`, so that nothing remains.
 *
 * @param mounts what the kernel offers there
 * @param program goes on as the first process
 */
export const enterRoot = (mounts: string, program: string): string => `
set -eu
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
cd "$2/root"
mount -t proc proc proc
${mounts}
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
  touch dev/$device
  mount --bind /dev/$device dev/$device
done
mkdir dev/pts dev/shm old
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts dev/pts
mount -t tmpfs -o mode=1777 tmpfs dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
pivot_root . old
umount -l old
mount --make-rshared /
exec env -i container=unshare PATH=/usr/sbin:/usr/bin:/sbin:/bin ${program}
`
/** The settings of the kernel are read-only, because it shares the kernel of this machine. */
const BOOT = enterRoot(
  `mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup`,
  '/lib/systemd/systemd --show-status=no',
)
const ENTER = ['--all', '--root', '--wd']
const ENV = [
  '-i',
  'HOME=/root',
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
]
const SSH = 'ssh -q -o StrictHostKeyChecking=no -i /root/.ssh/id'
/** A machine boots in 15 s, and its tests run beside others. */
const BOOT_WITHIN_MS = 300_000

/** Where the kernel manages process groups in the way of systemd; undefined if it does not. */
function cgroups(): string | undefined {
  const mounts = readFileSync('/proc/mounts', 'utf8')
  return / (\S+) cgroup2 rw/.exec(mounts)?.[1]
}

/** Why this machine cannot boot another one, or `false`. */
export function bootMissing(): string | false {
  return (
    rootsMissing('unshare', 'nsenter') ||
    (cgroups() === undefined && 'no writable cgroup2, which systemd needs')
  )
}

/** What a script has printed, and how it ended. */
export interface Ended {
  readonly status: number
  readonly stdout: string
  readonly stderr: string
}

/** A Debian that systemd has booted, with a network of its own. */
export interface BootedMachine extends AsyncDisposable {
  /** Its first process, as this machine counts. */
  readonly pid: string
  /** Runs a script of bash as root, outside any login. */
  readonly run: (script: string, input?: string | Buffer) => Promise<Ended>
  /** The same as a user who signs in over SSH. */
  readonly login: (user: string, script: string, input?: string | Buffer) => Promise<Ended>
}

/** Boots a Debian with two users who may use sudo. */
export async function bootMachine(users: readonly string[]): Promise<BootedMachine> {
  const work = mkdtempSync(join(tmpdir(), 'bonded-boot-'))
  for (const folder of ['upper', 'work', 'root']) mkdirSync(join(work, folder))
  const cgroup = join(cgroups() ?? '', `bonded-boot-${process.pid}`)
  mkdirSync(cgroup)
  const root = debianRoot(PACKAGES, 'essential')
  const unshare = 'unshare --fork --kill-child --pid --mount --uts --ipc --net --cgroup'
  const outer = `echo $$ > "$3/cgroup.procs" && exec ${unshare} sh -c '${BOOT}' sh "$1" "$2"`
  const machine = spawn('sh', ['-c', outer, 'sh', root, work, cgroup], { stdio: 'inherit' })
  const ended = once(machine, 'exit')
  const first = () => firstProcessOf(machine)
  const run = (script: string, input?: string | Buffer) => runIn(machine, script, input)
  const login = (user: string, script: string, input?: string | Buffer) =>
    run(`${SSH} ${user}@127.0.0.1 ${quoted(`set -eu\n${script}`)}`, input)
  const stop = async () => {
    // Its end is that of all processes of the machine.
    process.kill(Number(first()), 'SIGKILL')
    await ended
    // The kernel still holds the groups of processes that have just ended.
    await until(async () => {
      spawnSync('find', [cgroup, '-depth', '-type', 'd', '-exec', 'rmdir', '{}', ';'])
      return !existsSync(cgroup) || undefined
    }, BOOT_WITHIN_MS)
    rmSync(work, { recursive: true, force: true })
  }
  try {
    await until(async () => {
      const { stdout } = await run('systemctl is-system-running --wait')
      return stdout === 'running\n' || undefined
    }, BOOT_WITHIN_MS)
    await must(
      run(`mkdir -p -m 700 /root/.ssh
      ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id
      echo '%sudo ALL=(ALL:ALL) NOPASSWD: ALL' > /etc/sudoers.d/tests
      echo "127.0.0.1 localhost $(hostname)" > /etc/hosts
      for user in ${users.join(' ')}; do
        useradd --create-home --shell /bin/bash --groups sudo $user
        chmod 700 /home/$user
        install -D -o $user -m 600 /root/.ssh/id.pub /home/$user/.ssh/authorized_keys
      done`),
    )
  } catch (failure) {
    await stop()
    throw failure
  }
  return { pid: first(), run, login, [Symbol.asyncDispose]: stop }
}

/** The first process of a machine, which is the only child of unshare. */
export function firstProcessOf({ pid }: ChildProcess): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
}

/** Runs a script of bash as root of the machine. */
export function runIn(machine: ChildProcess, script: string, input?: string | Buffer) {
  const words = ['env', ...ENV, 'bash', '-eo', 'pipefail', '-c', script]
  return end([...ENTER, '-t', firstProcessOf(machine), ...words], input)
}

/** @throws {Error} with all that the script has printed, unless it succeeded */
export async function must(running: Promise<Ended>): Promise<string> {
  const { status, stdout, stderr } = await running
  if (status !== 0) throw new Error(`status ${status}\n${stdout}\n${stderr}`)
  return stdout
}

function end(args: readonly string[], input: string | Buffer = ''): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { maxBuffer: 2 ** 26 }
    const child = execFile('nsenter', args, options, (failure, stdout, stderr) =>
      resolve({ status: failure === null ? 0 : Number(failure.code ?? -1), stdout, stderr }),
    )
    // A script that reads nothing closes the pipe.
    child.stdin?.on('error', () => undefined).end(input)
  })
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
