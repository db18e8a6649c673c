import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { ENVIRONMENT } from './empty-folder.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const GUIDE = readFileSync(join(ROOT, 'docs/guides/quickstart.md'), 'utf8')

/** The ticks of every architecture on which Linux runs Node. */
const TICKS_PER_SECOND = 100

/** The blocks of the guide until it explains the steps one by one. */
const BLOCKS = [
  ...(GUIDE.split('\n## Each step with curl\n')[0] ?? '').matchAll(/^```sh\n([\s\S]*?)^```/gm),
].map(([, block = '']) => block)

/**
 * Types the blocks of the quickstart, as a reader would, from an empty folder to an accepted form.
 * Returns what the last block printed. Only ports are replaced.
 */
export async function typeQuickstart(): Promise<string> {
  const [pack = '', install = '', init = '', serve = '', start = '', approve = ''] = BLOCKS
  assert.equal(BLOCKS.length, 6)
  const home = mkdtempSync(join(tmpdir(), 'bonded-first-hour-'))
  const site = join(home, 'my-site')
  const [service, form] = [await freePort(), await freePort()]
  const env = {
    ...ENVIRONMENT,
    HOME: home,
    BONDED_PORT: String(service),
    PORT: String(form),
    // The packages that the registry has are in the cache of the user who runs the tests.
    npm_config_cache: ENVIRONMENT['npm_config_cache'] ?? join(process.env['HOME'] ?? '', '.npm'),
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
  }
  const type = (block: string, cwd: string) => {
    const typed = block.replaceAll('8788', String(form))
    const { status, stdout, stderr } = spawnSync('bash', ['-euo', 'pipefail', '-c', typed], {
      cwd,
      env,
      encoding: 'utf8',
      timeout: 300_000,
    })
    assert.equal(status, 0, `${typed}\n${stdout}\n${stderr}`)
    return stdout
  }
  const background = (block: string) =>
    spawn('bash', ['-c', `exec ${block}`], { cwd: site, env, stdio: 'ignore', detached: true })
  const children: ReturnType<typeof background>[] = []
  try {
    type(pack, ROOT)
    type(install, home)
    type(init, site)
    children.push(background(serve), background(start))
    for (const address of [`http://localhost:${service}/health/ready`, `http://localhost:${form}/`])
      await answers(address, children)
    return type(approve, site)
  } finally {
    for (const child of children) {
      const ended = child.exitCode === null ? once(child, 'exit') : undefined
      if (child.pid !== undefined && ended !== undefined) process.kill(-child.pid, 'SIGTERM')
      await ended
    }
    rmSync(home, { recursive: true, force: true })
  }
}

/** The CPU time of every program that this process has started and that has ended, on Linux. */
export function childCpuSeconds(): number {
  if (process.platform !== 'linux') return Number.NaN
  const stat = readFileSync('/proc/self/stat', 'utf8')
  // After the name in parentheses; proc(5) counts from 1, and names these cutime and cstime.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND
}

async function answers(
  address: string,
  children: readonly { readonly exitCode: number | null }[],
): Promise<void> {
  for (;;) {
    const response = await fetch(address).catch(() => undefined)
    if (response?.ok) return
    assert.ok(
      children.every(({ exitCode }) => exitCode === null),
      `${address} never answered`,
    )
    await setTimeout(50)
  }
}
