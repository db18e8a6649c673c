import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { freePorts } from './npm-start.ts'

const ROOT = resolve(import.meta.dirname, '..')
const GUIDE = readFileSync(join(ROOT, 'docs/guides/quickstart.md'), 'utf8')
/**
 * tests/pack/pack.test.ts runs the part before. The last section needs a browser;
 * tests/first-bond.test.ts has the same flow.
 */
const [steps = ''] = GUIDE.split('\n## Each step with curl\n')[1]?.split('\n## Add a page') ?? []

test('the commands of the quickstart end in a session that the gate accepts', {
  timeout: 240_000,
}, async () => {
  const [port] = await freePorts()
  const folder = mkdtempSync(join(tmpdir(), 'bonded-quickstart-'))
  const env = { ...process.env, BONDED_PORT: String(port), BONDED_DATA_DIR: join(folder, 'data') }
  const [start = '', ...commands] = [...steps.matchAll(/^```sh\n([\s\S]*?)^```/gm)].map(
    ([, block = '']) => block.replaceAll('http://localhost:8787', `http://localhost:${port}`),
  )
  assert.equal(start.trim(), 'npx bonded serve')
  const service = spawn('npx', start.trim().split(' ').slice(1), {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  try {
    for await (const chunk of service.stdout) if (/ready/.test(String(chunk))) break
    const reader = spawn('bash', ['-euo', 'pipefail', '-c', commands.join('\n')], {
      cwd: ROOT,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    reader.stdout.on('data', (chunk) => (printed += String(chunk)))
    const [code] = (await once(reader, 'close')) as [number]
    assert.equal(code, 0, printed)
    assert.match(printed, /Approved\. The session is bonded\./)
    assert.match(printed, /^completed application stored$/m)
    assert.match(printed, /  completed/)
  } finally {
    const ended = once(service, 'exit')
    if (service.pid !== undefined) process.kill(-service.pid, 'SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
})
