import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../packages/store/tests/servers/free-port.ts'

const ROOT = resolve(import.meta.dirname, '..')
/** The time that the README promises a newcomer. The test asserts the ready line, not its time. */
const START_TIMEOUT_MS = 60_000

/**
 * What `npm start` gives a newcomer: a bank to open and a service behind it.
 *
 * @param options.withDefaultPorts uses the ports that the README names
 * @param options.env settings of the service
 */
export async function npmStart(
  options: {
    readonly withDefaultPorts?: boolean
    readonly env?: Readonly<Record<string, string>>
  } = {},
) {
  const { withDefaultPorts = false } = options
  const folder = mkdtempSync(join(tmpdir(), 'bonded-start-'))
  const [servicePort, bankPort] = withDefaultPorts ? [8787, 8788] : await freePorts()
  const env = {
    ...process.env,
    ...options.env,
    BONDED_PORT: String(servicePort),
    BANK_PORT: String(bankPort),
    DEMO_PORT: withDefaultPorts ? '8789' : '0',
    BONDED_DATA_DIR: join(folder, '.bonded'),
  }
  const child = spawn('npm', ['start'], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  const printed = await until(child, /Stop {7}/)
  const bank = /Bank +(\S+)/.exec(printed)?.[1] ?? ''
  const phone = /Phone +(\S+)/.exec(printed)?.[1] ?? ''
  const service = /Service +(\S+)/.exec(printed)?.[1] ?? ''
  const bonded = (...args: string[]) =>
    promisify(execFile)('npx', ['bonded', ...args], { cwd: ROOT, env })
  return {
    folder,
    bank,
    phone,
    service,
    bonded,
    demoFile: join(folder, '.bonded/demo.json'),
    async [Symbol.asyncDispose]() {
      const ended = new Promise((done) => child.once('exit', done))
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function until(child: ChildProcess, ready: RegExp): Promise<string> {
  const { promise, resolve: done, reject } = Promise.withResolvers<string>()
  let printed = ''
  child.stdout?.on('data', (chunk) => {
    printed += String(chunk)
    if (ready.test(printed)) done(printed)
  })
  child.once('exit', (code) => reject(new Error(`npm start ended with ${code} after: ${printed}`)))
  const timer = setTimeout(
    () => reject(new Error(`npm start is not ready: ${printed}`)),
    START_TIMEOUT_MS,
  )
  return promise.finally(() => clearTimeout(timer))
}

/** Two free ports, which differ. */
export async function freePorts(): Promise<[number, number]> {
  const [one, other] = [await freePort(), await freePort()]
  return one === other ? freePorts() : [one, other]
}
