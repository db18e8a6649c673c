import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { freePort } from '../packages/store/tests/servers/free-port.ts'

const ROOT = resolve(import.meta.dirname, '..')
const PORTS = { BONDED_PORT: '0', BANK_PORT: '0', DEMO_PORT: '0' }
const END_TIMEOUT_MS = 60_000

/** What the README and the guides tell a reader to start, and a line that shows that it serves. */
const STARTS: Readonly<Record<string, RegExp>> = {
  'npx bonded serve': /^ready:/m,
  'npx bonded dev --no-demo': /Stop it with/,
  'npm start': /Stop {7}/,
}

/** Makes the launcher start a process, as it does on every Node before 22.15. */
const SPAWNING = '--import=data:text/javascript,delete%20process.execve'
/** npm 9 and 10 do not link the pinned Node, so that their own Node runs the launcher. */
const LAUNCHERS = { pinned: {}, older: { NODE_OPTIONS: SPAWNING } }

for (const [command, ready] of Object.entries(STARTS))
  for (const [node, variables] of Object.entries(LAUNCHERS))
    test(`a signal to the process of "${command}" alone also stops the service, with the launcher on the ${node} Node`, {
      skip: process.platform === 'win32' && 'Windows has no signals',
      timeout: 180_000,
    }, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'bonded-signals-'))
      const [program = '', ...args] = command.split(' ')
      const started = spawn(program, args, {
        cwd: ROOT,
        env: { ...process.env, ...PORTS, BONDED_DATA_DIR: folder, ...variables },
        stdio: ['ignore', 'pipe', 'pipe'],
        // A group of its own, so that a service that stays can be ended.
        detached: true,
      })
      let isLeft = false
      const deadline = setTimeout(() => {
        isLeft = true
        process.kill(-(started.pid ?? 0), 'SIGKILL')
      }, END_TIMEOUT_MS)
      try {
        const errors = text(started.stderr)
        let printed = ''
        started.stdout.on('data', (chunk) => {
          if (ready.test(printed)) return
          printed += String(chunk)
          if (ready.test(printed)) started.kill('SIGTERM')
        })
        // A pipe ends when the last process that writes to it has ended.
        assert.doesNotMatch(await errors, /error/i)
        assert.match(printed, ready)
        assert.equal(isLeft, false, 'the service did not stop')
      } finally {
        clearTimeout(deadline)
        rmSync(folder, { recursive: true, force: true })
      }
    })

test('a signal to the process of npm alone ends a script and the program that it waits for', {
  skip: process.platform === 'win32' && 'Windows has no signals',
  timeout: 180_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-script-'))
  try {
    const script = join(folder, 'script.ts')
    // As `npm run docs` builds the site: the script handles no signal until the program has ended.
    writeFileSync(
      script,
      `import { spawnSync } from 'node:child_process'
spawnSync(process.execPath, ['-e', 'console.log("ready"); setInterval(() => {}, 60_000)'], { stdio: 'inherit' })
`,
    )
    const run = join(ROOT, 'scripts/run.js')
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ scripts: { docs: `node ${run} ${script}` } }),
    )
    const started = spawn('npm', ['run', 'docs'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    started.stdout.on('data', (chunk) => {
      printed += String(chunk)
      if (/^ready$/m.test(printed)) started.kill('SIGTERM')
    })
    // A pipe closes when the last process that writes to it has ended.
    await once(started, 'close')
    assert.match(printed, /^ready$/m)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test('Ctrl+C in a terminal, which signals a group of processes, reaches the service from the launcher only', {
  skip: process.platform === 'win32' && 'Windows has no signals',
  timeout: 60_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-launcher-'))
  const origin = `http://localhost:${await freePort()}`
  const started = spawn(
    process.execPath,
    [SPAWNING, join(ROOT, 'packages/service/bin/bonded.js'), 'serve'],
    {
      env: { ...process.env, BONDED_DATA_DIR: folder, BONDED_PORT: new URL(origin).port },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    },
  )
  const pid = started.pid ?? assert.fail('the launcher did not start')
  const ended = once(started, 'exit')
  try {
    for await (const chunk of started.stdout) if (/^ready:/m.test(String(chunk))) break
    process.kill(pid, 'SIGSTOP')
    process.kill(-pid, 'SIGINT')
    // A process that has a signal handles it before a request that arrives later.
    for (const path of ['/health/alive', '/health/ready'])
      assert.equal((await fetch(origin + path)).status, 200)
    process.kill(pid, 'SIGCONT')
    // A second signal would end the service with 1, in the middle of open requests.
    assert.deepEqual(await ended, [0, null])
  } finally {
    started.kill('SIGCONT')
    rmSync(folder, { recursive: true, force: true })
  }
})
