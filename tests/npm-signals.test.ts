import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

const ROOT = resolve(import.meta.dirname, '..')
const PORTS = { BONDED_PORT: '0', BANK_PORT: '0', DEMO_PORT: '0' }
const END_TIMEOUT_MS = 60_000

/** What the README and the guides tell a reader to start, and a line that shows that it serves. */
const STARTS: Readonly<Record<string, RegExp>> = {
  'npx bonded serve': /^ready:/m,
  'npx bonded dev --no-demo': /Stop it with/,
  'npm start': /Stop {7}/,
}

for (const [command, ready] of Object.entries(STARTS))
  test(`a signal to the process of "${command}" alone also stops the service`, {
    skip: process.platform === 'win32' && 'Windows has no signals',
    timeout: 180_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bonded-signals-'))
    const [program = '', ...args] = command.split(' ')
    const started = spawn(program, args, {
      cwd: ROOT,
      env: { ...process.env, ...PORTS, BONDED_DATA_DIR: folder },
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
