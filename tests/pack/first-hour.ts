import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from '../../packages/store/tests/servers/free-port.ts'
import { walkGuide } from '../samples/guide.ts'
import { type Program, Terminal } from '../samples/terminal.ts'
import { READER } from './empty-folder.ts'

const ROOT = resolve(import.meta.dirname, '../..')

/** The ticks of every architecture on which Linux runs Node. */
const TICKS_PER_SECOND = 100

/**
 * Types the blocks of the quickstart, as a reader would, from an empty folder to an accepted form.
 * Returns what the last block printed.
 */
export async function typeQuickstart(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'bonded-first-hour-'))
  const [service, form] = [await freePort(), await freePort()]
  const env = {
    ...READER,
    HOME: home,
    BONDED_PORT: String(service),
    PORT: String(form),
    // The packages that the registry has are in the cache of the user who runs the tests.
    npm_config_cache: join(process.env['HOME'] ?? '', '.npm'),
  }
  const guide = { path: 'docs/guides/quickstart.md', test: import.meta.filename }
  try {
    return await walkGuide({ ...guide, values: { 8788: String(form) } }, async (next) => {
      await using repository = new Terminal({ folder: ROOT, env })
      await repository.type(next())
      await using terminal = new Terminal({ folder: home, env })
      await terminal.type(next())
      await terminal.type(next())
      const programs = [terminal.start(next()), terminal.start(next())]
      for (const address of [
        `http://localhost:${service}/health/ready`,
        `http://localhost:${form}/`,
      ])
        await answers(address, programs)
      // The terminal ends with this function.
      return await terminal.type(next())
    })
  } finally {
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

async function answers(address: string, programs: readonly Program[]): Promise<void> {
  for (;;) {
    const response = await fetch(address).catch(() => undefined)
    if (response?.ok) return
    assert.ok(
      programs.every(({ isRunning }) => isRunning),
      `${address} never answered`,
    )
    await setTimeout(50)
  }
}
