import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { until } from '../harness/process.ts'
import type { TakeBlock } from '../samples/guide.ts'
import { type BootedMachine, type Ended, must } from './booted-machine.ts'
import type { Action } from './booted-visitors.ts'

const PROGRAM = join(import.meta.dirname, 'booted-visitors.ts')
const NAMES = ['bond', 'console', 'approve'].map((name) => `${name}.example.com`)
const DATABASES = ['db.example', 'db-1.example', 'db-2.example']
/** A step of the machine, which runs beside other tests. */
export const WITHIN_MS = 300_000

/** An entry of the audit log. */
export interface Entry {
  readonly actor: string
  readonly actor_kind: string
  readonly issuer: string | null
  readonly address: string
  readonly action: string
  readonly result: string
}

/** A machine on which the guides have installed the service. */
export interface Operated {
  readonly machine: BootedMachine
  readonly take: TakeBlock
  /** Types a block into a shell of root that a user has opened with sudo. */
  readonly asRoot: (
    user: string,
    block: string,
    variables?: Readonly<Record<string, string>>,
  ) => Promise<Ended>
  readonly ready: () => Promise<true>
  readonly entriesAfter: (number: number) => Promise<readonly Entry[]>
  /** The name of a user in the audit log. */
  readonly actorOf: (user: string) => string
}

/** A command that creates a tenant. */
export const createTenant = (name: string) =>
  `tenant create --name ${name} --environment sandbox --origin https://${name}.example --workflow w:a --json`

/** The authority of the operator, which signs every certificate of the machine. */
export const AUTHORITY = '/etc/bonded/db-ca.pem'

/** Lets all names of the guides lead to the machine, and gives it a certificate for them. */
export async function nameMachine({ run }: BootedMachine): Promise<void> {
  const names = ['localhost', ...NAMES, ...DATABASES]
  const alternatives = names.map((name) => `DNS:${name}`).join()
  await must(
    run(`sed -i 's/localhost/& ${[...NAMES, ...DATABASES].join(' ')}/' /etc/hosts
    cd /etc/ssl
    openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ${AUTHORITY} -subj /CN=ca -days 2
    openssl req -x509 -newkey rsa:2048 -nodes -keyout server.key -out server.crt -subj /CN=localhost \\
      -CA ${AUTHORITY} -CAkey ca.key -days 2 -addext basicConstraints=CA:FALSE \\
      -addext subjectAltName=${alternatives}
    chmod 0644 ${AUTHORITY}`),
  )
}

/** The proxy of the tarball, in which only the certificates and the network are replaced. */
export async function startProxy({ run }: BootedMachine): Promise<void> {
  await must(
    run(`cd /etc/nginx
    cp /opt/bonded/nginx/* .
    sed -i 's|allow 192.0.2.0/24|allow 127.0.0.1|' bonded-console.conf
    for name in bonded bonded-console bonded-ciba; do
      for end in crt key; do ln -s /etc/ssl/server.$end $name.$end; done
    done
    systemctl restart nginx`),
  )
}

/** People and programs in the network of the machine. */
export interface Visitors extends AsyncDisposable {
  readonly ask: (action: Action, given?: string) => Promise<string>
}

/** Starts them, when the machine has names and an authority. */
export function visitorsOf({ pid }: BootedMachine): Visitors {
  const root = `/proc/${pid}/root`
  // A copy, because a mount of another namespace cannot be bound.
  const script = `mount -t tmpfs tmpfs /mnt; cp ${root}/etc/hosts /mnt/hosts
  mount --bind /mnt/hosts /etc/hosts; exec "$@"`
  const program = [process.execPath, ...process.execArgv, PROGRAM]
  const words = ['-t', pid, '--net', 'unshare', '--mount', 'sh', '-ec', script, 'sh', ...program]
  const { NODE_TEST_CONTEXT: _testContext, ...env } = process.env
  const child = spawn('nsenter', words, {
    env: { ...env, NODE_EXTRA_CA_CERTS: `${root}${AUTHORITY}` },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const ended = once(child, 'exit')
  return {
    async ask(action, given = '') {
      const replied = once(child, 'message') as Promise<[{ value?: string; failure?: string }]>
      child.send({ action, given })
      const [reply] = await Promise.race([replied, ended])
      if (reply?.value === undefined) throw new Error(reply?.failure ?? 'the program has ended')
      return reply.value
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

/**
 * Starts a block whose last command goes on, as root in a folder of the machine, and ends it.
 *
 * @param meanwhile gets what the block has printed
 */
export async function during(
  { run }: BootedMachine,
  { block, folder = '/' }: { readonly block: string; readonly folder?: string },
  meanwhile: (printed: () => Promise<string>) => Promise<void>,
): Promise<void> {
  const group = '-- -$(cat /run/block)'
  const start = `cd ${folder}; exec setsid --wait bash -eu > /run/block.log 2>&1`
  const ended = run(start, `echo $$ > /run/block\n${block}`)
  const printed = () => must(run('touch /run/block.log; cat /run/block.log'))
  try {
    await Promise.race([
      meanwhile(printed),
      ended.then(async () => Promise.reject(new Error(await printed()))),
    ])
  } finally {
    await run(`kill ${group}`)
    await until(async () => (await run(`kill -0 ${group}`)).status !== 0 || undefined, WITHIN_MS)
  }
}
