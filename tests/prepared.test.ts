import assert from 'node:assert/strict'
import { execSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: { prepare: string }
}

test('npm ci compiles what a start loads, so that the first start is as quick as a later one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-prepared-'))
  try {
    const compiled = join(folder, 'compiled')
    const env = {
      ...process.env,
      NODE_COMPILE_CACHE: compiled,
      BONDED_DATA_DIR: join(folder, 'data'),
      BONDED_PORT: '0',
    }
    execSync(scripts.prepare, { cwd: ROOT, env, stdio: 'ignore' })
    const prepared = modulesIn(compiled)
    const child = spawn(
      process.execPath,
      [join(ROOT, 'packages/service/bin/bonded.js'), 'serve', '--json'],
      {
        env,
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    )
    await once(createInterface(child.stdout), 'line')
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
    const anew = modulesIn(compiled) - prepared
    // What is loaded only when it is needed is left, and is little.
    assert.ok(anew < prepared / 20, `${anew} modules beside ${prepared} were compiled at the start`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

function modulesIn(compiled: string): number {
  return readdirSync(compiled, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  ).length
}
