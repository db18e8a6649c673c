import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { installSensors } from '../../packages/phone-page/tests/motion-driver.ts'
import {
  openPhone,
  type PhoneBrowser,
  press,
  readAll,
  screen,
} from '../../packages/phone-page/tests/phone-browser.ts'
import { openBrowser } from '../browser.ts'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { samplesOf } from '../samples/samples.ts'
import { ENVIRONMENT, type EmptyFolder } from './empty-folder.ts'

/** The address of the tunnel in the guide. */
const TUNNEL = 'https://example.trycloudflare.com'
const ROOT = resolve(import.meta.dirname, '../..')
const BLOCKS = samplesOf('docs/guides/approve-an-agents-action.md')
  .filter(({ label }) => label === 'run by tests/pack/agent-guide.ts')
  .map(({ code }) => code)

/** What a reader sees for one tenant. */
export interface Walk {
  /** The request on the phone. */
  readonly shown: string
  readonly agent: string
  /** What the script in Python prints. */
  readonly receipt: string
}

/**
 * Types docs/guides/approve-an-agents-action.md in a folder below the installed tarballs, with
 * Chromium as the phone. Only the address, the id of the session, and the path of the repository
 * are replaced. Then types it again for a tenant of production, to which the phone brings its key.
 */
export async function walkAgentGuide(folder: EmptyFolder): Promise<Record<string, Walk>> {
  assert.equal(BLOCKS.length, 9)
  const [dev = '', create = '', enroll = '', runEnroll = '', advance = '', ...rest] = BLOCKS
  const [server = '', agent = '', runAgent = '', receipt = ''] = rest
  await using terminal = await Terminal.open(mkdtempSync(join(folder.path, 'my-agent-')))
  await using browser = await openBrowser()
  terminal.write('enroll.mjs', enroll)
  terminal.write('server.mjs', server)
  terminal.write('agent.mjs', agent)
  const phone = await openPhone(browser)
  await installSensors(phone.page, 'granted')
  await terminal.start(dev).printed(/sandbox runs at/)

  const walk = async (createTenant: string, hasAdvanced: boolean): Promise<Walk> => {
    terminal.type(createTenant)
    await enrollUser(terminal.start(runEnroll), phone)
    if (!hasAdvanced) terminal.type(advance)
    const asking = terminal.start(runAgent)
    const [, inbox = ''] = await asking.printed(/^approval_required: open (\S+) on the phone$/m)
    const shown = await approveInInbox(phone.page, inbox)
    const printed = await asking.ended
    const [session = ''] = /sess_\w+/.exec(printed) ?? []
    const verify = receipt.replace('sess_…', session).replace('<repository>', ROOT)
    return { shown, agent: printed, receipt: terminal.type(verify) }
  }
  const sandbox = await walk(create, false)
  const inProduction = create
    .replace('--environment sandbox', '--environment production')
    .replace('My company', 'Harbour Bank')
  return { sandbox, production: await walk(inProduction, true) }
}

async function enrollUser(enrolling: Program, phone: PhoneBrowser): Promise<void> {
  const [, universal_link = ''] = await enrolling.printed(/^Open (\S+) on the phone/m)
  await phone.open({ universal_link })
  await readAll(phone.page)
  await press(phone.page, 'Approve')
  await screen(phone.page, 'approved')
  enrolling.answer('\n')
  await enrolling.ended
}

/** Returns what the phone showed. */
async function approveInInbox(page: Page, inbox: string): Promise<string> {
  await page.goto(inbox)
  await screen(page, 'inbox')
  await press(page, 'Open')
  await screen(page, 'list')
  await page.locator('.item').click()
  await screen(page, 'request')
  const shown = await page.locator('article').innerText()
  // The user holds the phone in the hand for seconds that only the page counts.
  await page.evaluate('carry(20)')
  await readAll(page)
  await press(page, 'Approve')
  // The agent calls the tool as soon as it can, which may complete the session within a second.
  await screen(page, 'approved', 'completed')
  return shown
}

/** A folder in which a reader types, with the port of a service of its own. */
class Terminal implements AsyncDisposable {
  readonly #folder: string
  readonly #port: number
  readonly #programs: Program[] = []

  private constructor(folder: string, port: number) {
    this.#folder = folder
    this.#port = port
  }

  static async open(folder: string): Promise<Terminal> {
    return new Terminal(folder, await freePort())
  }

  write(name: string, code: string): void {
    writeFileSync(join(this.#folder, name), code)
  }

  /** Runs a block to its end, and returns what it printed. */
  type(block: string): string {
    const args = ['-euo', 'pipefail', '-c', this.#here(block)]
    const { status, stdout, stderr } = spawnSync('bash', args, {
      ...this.#options,
      encoding: 'utf8',
    })
    assert.equal(status, 0, `${block}\n${stdout}\n${stderr}`)
    return stdout
  }

  /** Starts a block in a terminal of its own. */
  start(block: string): Program {
    const options = { ...this.#options, detached: true } as const
    const program = new Program(spawn('bash', ['-c', `exec ${this.#here(block)}`], options))
    this.#programs.push(program)
    return program
  }

  #here(block: string): string {
    return block.replaceAll(TUNNEL, `http://localhost:${this.#port}`)
  }

  get #options() {
    return { cwd: this.#folder, env: { ...ENVIRONMENT, BONDED_PORT: String(this.#port) } }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.stop()))
  }
}

/** A program that runs, and what it has printed. */
class Program {
  readonly #child: ChildProcess
  readonly #closed: Promise<unknown>
  #printed = ''
  #onPrint = () => {}

  constructor(child: ChildProcess) {
    this.#child = child
    this.#closed = once(child, 'close').then(() => this.#onPrint())
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk) => {
        this.#printed += String(chunk)
        this.#onPrint()
      })
  }

  /** Waits for a text, and fails if the program ends without it. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#printed)
      if (found !== null) return found
      assert.equal(this.#child.exitCode, null, this.#printed)
      await new Promise<void>((done) => (this.#onPrint = done))
    }
  }

  answer(line: string): void {
    this.#child.stdin?.write(line)
  }

  /** What it printed until its end, which must be a success. */
  get ended(): Promise<string> {
    return this.#closed.then(() => {
      assert.equal(this.#child.exitCode, 0, this.#printed)
      return this.#printed
    })
  }

  async stop(): Promise<void> {
    const { pid, exitCode } = this.#child
    if (pid !== undefined && exitCode === null) process.kill(-pid, 'SIGTERM')
    await this.#closed
  }
}
