import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  COMPLETION_SECRET_HEADER,
  type CreatedSession,
  type FullSession,
  OUTCOME_HEADER,
  PRESETS,
  type SessionState,
} from '@bonded/contract'
import { NotRun } from '@bonded/cli/agent/not-run'
import { closeOnSignal, serve } from '@bonded/cli/node/serve'
import { StartedParts } from '@bonded/cli/node/started-parts'
import { jsonOption } from '@bonded/cli/program/arguments'
import { createTenant, type NewTenant } from '@bonded/core/operations/admin/tenants'
import type { Service } from '@bonded/core/operations/service'
import { programEnvironment } from '@bonded/server/adapters/programs/program'
import { openLog } from '@bonded/server/log'
import { readConfig } from '@bonded/server/settings/config'
import { Command } from 'commander'
import { type Backend, createBackend } from '../backend.ts'
import { openInBrowser } from '../open/open.ts'
import { phoneInBrowser } from './phone-in-browser.ts'

const EXAMPLE = ['echo', 'The phone has approved this.']
const HELP = `
It starts a sandbox in a temporary folder, shows a simulated phone in your browser, and runs
bonded approve -- COMMAND, which waits for that phone. With --agent it runs COMMAND alone, which
finds BONDED_ORIGIN, BONDED_SERVER_CREDENTIAL, BONDED_SUBJECT and BONDED_STORE in its environment.

It needs no settings. BONDED_PORT chooses the port. It ends with the exit code of the command.`

/** What a preset for agents has, but for any key: a trial does not wait for 7 days. */
const TITLE = { en: 'Trial: accepts any key' }
const TRIAL = { ...PRESETS.agent, webauthn: 'any', title: TITLE } as const
const TENANT: NewTenant = {
  name: 'This computer (trial)',
  environment: 'sandbox',
  origins: [],
  demo: false,
  workflows: [
    { name: 'enrollment', actions: ['enroll'], unattested: 'accept', session_ttl_seconds: 900 },
    { ...TRIAL, name: 'agent_commands', actions: ['run_command', 'run_tool'] },
    { ...TRIAL, name: 'agent_payments', actions: ['transfer'] },
  ],
}
const SHOWN = { display: [{ label: 'Sets up', value: 'This simulated phone' }] }
/** Before the phone has answered. */
const OPEN: readonly SessionState[] = ['pending', 'step_up_required']

const NEXT = `
It ran once, exactly as the phone showed it.

The key of this phone proves nothing yet: the workflow has "webauthn": "any", so an agent could
have made a key too. With the preset "agent", a passkey can approve 7 days after its enrollment,
and an attested key at once.

Your own phone needs HTTPS, on a host name that you bring: docs/guides/real-phone.md
A tool of your own agent: docs/guides/approve-an-agents-action.md`

interface TryOptions {
  readonly agent?: true
  readonly json?: boolean
}

/** `bonded try`: one approval from start to end, on this machine alone. */
export function tryCommand(): Command {
  return new Command('try')
    .description('Run a command after an approval by a simulated phone in your browser')
    .usage('[options] [-- <command...>]')
    .argument('[command...]', 'Program and its arguments; default: echo')
    .option('--agent', 'The command asks for approvals by itself, as a tool of an agent does')
    .addOption(jsonOption('Print a failure as JSON'))
    .addHelpText('after', HELP)
    .action(async (words: readonly string[], options: TryOptions) => {
      await using started = new StartedParts()
      closeOnSignal(options, started)
      // A terminal that is closed.
      process.on('SIGHUP', () => process.kill(process.pid, 'SIGTERM'))
      process.exitCode = await tryOnce(words.length > 0 ? words : EXAMPLE, options, started)
    })
}

/** Resolves to the exit code of the command. */
async function tryOnce(
  command: readonly string[],
  { agent, json }: TryOptions,
  started: StartedParts,
): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-try-'))
  // Also where a second signal ends the process at once.
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const { BONDED_PORT = await freePort() } = process.env
  // No other setting of this shell: it may name the database of a production service.
  const config = readConfig({ BONDED_DATA_DIR: folder, BONDED_PORT })
  const { publicOrigin: origin } = config
  const addPages = await phoneInBrowser(origin)
  const { service } = started.use(await serve(config, openLog('error', 'stderr'), { addPages }))
  const { serverCredential } = await createTenant(service, TENANT)
  const credential = serverCredential.reveal()
  const phone = `${origin}/phone`
  const subject = await enroll(service, createBackend(origin, credential), () => {
    say(`A sandbox with a simulated phone runs on this computer. Press Ctrl+C to stop it.

1. Open the phone in a browser: ${phone}
   Choose Set up this phone, and then Approve.
`)
    if (process.stderr.isTTY) openInBrowser(phone)
  })
  const store = join(folder, 'approvals.db')
  const own = ['approve', '--store', store, ...(json === true ? ['--json'] : []), '--']
  const bonded = [process.execPath, ...process.execArgv, process.argv[1] ?? '']
  const [program = '', ...args] = agent === true ? command : [...bonded, ...own, ...command]
  say(`2. Open the phone again: ${phone}
   Choose Open, and then the request. Read it to its end, and choose Approve. It comes from
   ${agent === true ? '' : 'bonded approve -- '}${command.join(' ')}
`)
  const child = spawn(program, args, {
    env: {
      ...programEnvironment(),
      BONDED_ORIGIN: origin,
      BONDED_SERVER_CREDENTIAL: credential,
      BONDED_SUBJECT: subject,
      BONDED_STORE: store,
    },
    stdio: ['ignore', 'inherit', 'inherit'],
    // In a group of its own, which Ctrl+C reaches once.
    detached: true,
  })
  started.use({ [Symbol.asyncDispose]: () => endGroup(child) })
  const ended = once(child, 'exit').catch((cause: Error) => {
    throw new NotRun('not_run', `${program} did not start: ${cause.message}.`, { cause })
  })
  const [code] = (await ended) as [number | null]
  if (code === 0) say(NEXT)
  return code ?? 1
}

/** Has a phone approve on a page, so that its key is known. Resolves to its user. */
async function enroll({ bus }: Service, call: Backend, onCreated: () => void): Promise<string> {
  const body = { workflow: 'enrollment', context: SHOWN }
  const { id, completion_secret } = await call<CreatedSession>('/sessions', { body })
  const answered = new Promise<SessionState>((resolve) => {
    bus.subscribeAll(({ sessionId, change }) => {
      const isOpen = change === undefined || OPEN.includes(change.session.state)
      if (sessionId === id && !isOpen) resolve(change.session.state)
    })
  })
  onCreated()
  const state = await answered
  const code = state === 'expired' ? 'approval_expired' : 'approval_declined'
  if (state !== 'bonded') throw new NotRun(code, 'The phone was not set up.')
  const headers = { [COMPLETION_SECRET_HEADER]: completion_secret, [OUTCOME_HEADER]: 'accepted' }
  await call(`/sessions/${id}/form-completed`, { headers })
  const { subject_ref } = await call<FullSession>(`/sessions/${id}`, { method: 'GET' })
  return subject_ref ?? ''
}

/** A port of its own has no phone of an earlier trial in the browser's storage. */
async function freePort(): Promise<string> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  await new Promise((closed) => probe.close(closed))
  return String(port)
}

/** Ends a program with all that it has started, and waits for it. */
async function endGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  process.kill(-child.pid, 'SIGTERM')
  await ended
}

/** The output of the command alone is on stdout. */
function say(text: string): void {
  process.stderr.write(`${text}\n`)
}
