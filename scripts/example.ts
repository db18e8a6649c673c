import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'

/**
 * `npm run example NAME`: installs an example from its lockfile and the packed @bonded/integrator,
 * and starts it beside a sandbox of its own. PORT and BONDED_PORT choose the ports. `bonded try`
 * starts those of `TRIED`.
 */
const ROOT = resolve(import.meta.dirname, '..')
const AGENTS = ['ai-sdk', 'openai-agents']
/** Agents that `bonded try` starts, beside a phone in the browser. */
const TRIED = ['mcp', 'langgraph']
const EXAMPLES = ['express', 'typescript', 'fastify', 'hono', 'next', 'django', ...AGENTS, ...TRIED]
const { PORT = '8788', BONDED_PORT = '8787' } = process.env
const BONDED = join(ROOT, 'packages/service/bin/bonded.js')
/** What @bonded/integrator is packed from. */
const SOURCES = [
  'packages/contract',
  'packages/integrator',
  'packages/phone-page/build',
  'scripts',
  'LICENSE',
  'tsconfig.base.json',
  'tsconfig.build.json',
]
const NO_SOURCE = /(?:^|[\\/])(?:node_modules|dist|tests)$/
const NAME = process.argv[2] ?? ''
if (!EXAMPLES.includes(NAME)) {
  console.error(`Usage: npm run example -- ${EXAMPLES.join(' | ')}`)
  process.exit(2)
}
const isAgent = AGENTS.includes(NAME)
/** What the sites share, or the agents. */
const SHARED = join(ROOT, 'examples', isAgent ? 'agents' : 'site')

const origin = `http://localhost:${BONDED_PORT}`
const data = mkdtempSync(join(tmpdir(), 'bonded-example-'))
/** Outside this repository, as in a project of your own. */
const folder = join(data, 'project')
const children: ChildProcess[] = []
let stopping: Promise<void> | undefined
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => void stop().then(() => process.exit(0)))

try {
  process.exitCode = await (TRIED.includes(NAME) ? tryAgent() : startBesideSandbox())
} catch (failure) {
  console.error(failure instanceof Error ? failure.message : failure)
  process.exitCode = 1
} finally {
  await stop()
}

/** Starts an example with a service of its own. Resolves to its exit code. */
async function startBesideSandbox(): Promise<number> {
  for (const port of [BONDED_PORT, ...(isAgent ? [] : [PORT])]) await checkFree(port)
  await install()
  const service = start(process.execPath, [BONDED, 'serve'], {
    cwd: ROOT,
    env: { BONDED_DATA_DIR: data, BONDED_PORT },
    // Its log would hide the messages of the example.
    output: 'ignore',
  })
  await answers(`${origin}/health/ready`, service)
  const tenant = await createTenant()
  const [command, ...args] = startCommand()
  const example = start(command, args, {
    cwd: folder,
    env: {
      PORT,
      BONDED_ORIGIN: origin,
      BONDED_SERVER_CREDENTIAL: tenant.server_credential,
      BONDED_PUBLISHABLE_KEY: tenant.publishable_key,
      NEXT_TELEMETRY_DISABLED: '1',
      PYTHONPATH: [join(folder, 'vendor'), folder].join(delimiter),
      DATABASE: join(data, 'site.sqlite3'),
      ...(isAgent && { BONDED_SUBJECT: await enroll(tenant) }),
    },
  })
  if (!isAgent) await answers(`http://localhost:${PORT}/`, example)
  console.log(
    isAgent
      ? `Approve what the agent waits for, in place of SESSION, with
  npx bonded phone inbox --approve SESSION --data-dir ${data}`
      : `Ready: http://localhost:${PORT}
Choose "Continue to approval", and save a screenshot of the page. Approve it with
  npx bonded phone approve --qr screenshot.png --data-dir ${data}
Stop with Ctrl+C.`,
  )
  return ended(example)
}

/** Starts an agent that waits for the phone of `bonded try`. Resolves to its exit code. */
async function tryAgent(): Promise<number> {
  const vendor = join(data, 'vendor')
  const command =
    NAME === 'mcp'
      ? ['node', '--conditions=@bonded/source', 'examples/agents/mcp-agent.ts']
      : ['python3', 'examples/agents/langgraph_agent.py']
  if (NAME === 'langgraph') {
    console.error('Installing LangGraph with pip in a temporary folder.')
    const wanted = ['langgraph>=1', 'httpx', 'cryptography']
    const quiet = ['--quiet', '--disable-pip-version-check']
    await run('python3', ['-m', 'pip', 'install', ...quiet, '--target', vendor, ...wanted], data)
  }
  const env = { PYTHONPATH: [vendor, join(ROOT, 'packages/python/src')].join(delimiter) }
  const words = [BONDED, 'try', '--agent', '--', ...command]
  return ended(start(process.execPath, words, { cwd: ROOT, env }))
}

async function ended(child: ChildProcess): Promise<number> {
  const [code] = (await once(child, 'exit')) as [number | null]
  return code ?? 0
}

/** Copies the example and the parts that all of them share, and installs what they need. */
async function install(): Promise<void> {
  const isInstalled = (path: string) => /^(?:node_modules|vendor)$/.test(path)
  mkdirSync(join(folder, 'vendor'), { recursive: true })
  const own = (path: string) => !isInstalled(path.slice(join(ROOT, 'examples', NAME).length + 1))
  cpSync(join(ROOT, 'examples', NAME), folder, { recursive: true, filter: own })
  if (isAgent) cpSync(join(SHARED, 'transfers.ts'), join(folder, 'transfers.ts'))
  else cpSync(SHARED, folder, { recursive: true })
  if (NAME === 'django') {
    cpSync(join(ROOT, 'packages/python/src'), folder, { recursive: true })
    const wanted = ['-r', 'requirements.txt', '--require-hashes', '--no-deps', '--quiet']
    const target = ['--target', 'vendor', '--disable-pip-version-check']
    return run('python3', ['-m', 'pip', 'install', ...wanted, ...target], folder)
  }
  await packIntegrator()
  await run(
    'npm',
    ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'],
    folder,
  )
}

/** Puts @bonded/integrator into `vendor`. Without a change of its sources, it is packed once. */
async function packIntegrator(): Promise<void> {
  const kept = join(ROOT, 'node_modules/.cache/examples', `integrator-${hashOfSources()}.tgz`)
  if (!existsSync(kept)) {
    const packed = await packInCopy()
    mkdirSync(dirname(kept), { recursive: true })
    // Another example may read it at the same time.
    const partial = `${kept}.${process.pid}`
    cpSync(packed, partial)
    renameSync(partial, kept)
  }
  // Without the version, package.json and the lockfile stay the same from release to release.
  cpSync(kept, join(folder, 'vendor/integrator.tgz'))
}

function hashOfSources(): string {
  const hash = createHash('sha256')
  const found = SOURCES.flatMap((part) =>
    statSync(join(ROOT, part)).isFile()
      ? [part]
      : globSync(`${part}/**/*.*`, { cwd: ROOT, exclude: (path) => NO_SOURCE.test(path) }),
  )
  for (const path of [...found.toSorted(), 'package-lock.json'])
    if (statSync(join(ROOT, path)).isFile())
      hash.update(`${path}\n`).update(readFileSync(join(ROOT, path)))
  return hash.digest('hex').slice(0, 16)
}

/** Packs it in a copy: the repository may be building it at the same time. Returns its path. */
async function packInCopy(): Promise<string> {
  const copy = join(data, 'build')
  for (const part of SOURCES)
    cpSync(join(ROOT, part), join(copy, part), {
      recursive: true,
      filter: (path) => !NO_SOURCE.test(path),
    })
  const modules = join(copy, 'node_modules')
  mkdirSync(join(modules, '@bonded'), { recursive: true })
  symlinkSync(join(copy, 'packages/contract'), join(modules, '@bonded/contract'), 'junction')
  // With the types of optional peers, which the compiler reads.
  const { dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(ROOT, 'packages/integrator/package.json'), 'utf8'),
  ) as Record<'dependencies' | 'peerDependencies', Readonly<Record<string, string>>>
  const others = Object.keys({ ...dependencies, ...peerDependencies })
  for (const name of ['typescript', ...others]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name), 'junction')
  }
  const packed = join(data, 'packed')
  await run(process.execPath, ['scripts/pack.ts', packed, 'integrator'], copy)
  const [tarball = ''] = readdirSync(packed)
  return join(packed, tarball)
}

function startCommand(): readonly [string, ...string[]] {
  return NAME === 'django' ? ['python3', 'server.py'] : ['npm', 'start', '--silent']
}

interface Started {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly output?: 'ignore'
}

/** Starts a program in a process group of its own, because npm starts further ones. */
function start(
  command: string,
  args: readonly string[],
  { cwd, env, output }: Started,
): ChildProcess {
  const { NODE_OPTIONS: _own, ...inherited } = process.env
  const child = spawn(command, args, {
    cwd,
    env: { ...inherited, ...env },
    stdio: ['ignore', output ?? 'inherit', 'inherit'],
    detached: true,
  })
  children.push(child)
  return child
}

/** Ends everything once. A further signal waits for the same end. */
function stop(): Promise<void> {
  return (stopping ??= endChildren())
}

async function endChildren(): Promise<void> {
  const running = children.filter(
    ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
  )
  await Promise.all(
    running.map(async (child) => {
      const ended = once(child, 'exit')
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      await ended
    }),
  )
  rmSync(data, { recursive: true, force: true })
}

/** Runs a program to its end. */
async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const child = start(command, args, { cwd, env: {} })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`)
}

/** Another program on the port would answer in place of the example. */
async function checkFree(port: string): Promise<void> {
  const isTaken = await fetch(`http://localhost:${port}/`).then(
    () => true,
    () => false,
  )
  if (isTaken) throw new Error(`Port ${port} is in use. Choose others with PORT and BONDED_PORT.`)
}

/** Waits until a program answers. */
async function answers(url: string, program: ChildProcess): Promise<void> {
  for (;;) {
    const response = await fetch(url).catch(() => undefined)
    if (response?.ok) return
    if (program.exitCode !== null) throw new Error(`the program of ${url} has ended`)
    await new Promise((done) => setTimeout(done, 100))
  }
}

interface Keys {
  readonly server_credential: string
  readonly publishable_key: string
}

async function createTenant(): Promise<Keys> {
  const words = ['tenant', 'create', '--name', 'My shop', '--environment', 'sandbox', '--demo']
  const workflow = ['--workflow-file', join(SHARED, 'workflow.json'), '--json']
  const child = spawn(
    process.execPath,
    [BONDED, ...words, '--origin', `http://localhost:${PORT}`, ...workflow],
    {
      cwd: ROOT,
      env: { ...process.env, BONDED_DATA_DIR: data, BONDED_PORT },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  return JSON.parse(await text(child.stdout)) as Keys
}

/** Bonds the simulated phone on a page of the tenant. Returns the `subject_ref` of its user. */
async function enroll({ server_credential }: Keys): Promise<string> {
  const call = async (path: string, body?: object) => {
    const response = await fetch(`${origin}/api/v1/sessions${path}`, {
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      headers: {
        authorization: `Bearer ${server_credential}`,
        'content-type': 'application/json',
      },
    })
    return (await response.json()) as { id: string; universal_link: string; subject_ref: string }
  }
  const { id, universal_link } = await call('', { workflow: 'enrollment' })
  const words = ['phone', 'approve', '--no-wait', '--qr', universal_link, '--data-dir', data]
  await run(process.execPath, [BONDED, ...words], ROOT)
  return (await call(`/${id}`)).subject_ref
}
