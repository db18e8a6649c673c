import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { findPython, runPython } from '../packages/python/tests/python.ts'
import { ASKED, startTrial } from './harness/trial.ts'
import { walkGuide } from './samples/guide.ts'

const ROOT = resolve(import.meta.dirname, '..')
const STAND_IN = join(ROOT, 'packages/python/tests/frameworks/stand_in.py')
const wheels = mkdtempSync(join(tmpdir(), 'bonded-wheels-'))
after(() => rmSync(wheels, { recursive: true }))
const python = findPython('pip')
if ('python' in python) runPython(python.python, [STAND_IN, wheels])
const TRANSFER = { cents: 125_000, to: 'DE02 1203 0000 0000 2020 51' }

/** What the phone shows, and what is printed after its approval. */
const DOORS = [
  [/^npx bonded try /, { command: ['echo', 'The phone has approved this.'] }, /^The phone has app/],
  [/^npm run example -- mcp /, TRANSFER, /status: 'sent',\s+cents: 125000,\s+id: 'sess_/],
  [/^npm run example -- langgraph /, TRANSFER, /^sent 125000 cents as sess_\w+$/m],
] as const

const guide = { path: 'README.md', test: import.meta.filename }
const block = await walkGuide(guide, async (next) => next()())
const lines = block.trim().split('\n')

test('the README has a command for each door', () => assert.equal(lines.length, DOORS.length))

for (const [index, [line, text, printed]] of DOORS.entries())
  test(`${lines[index]}: runs once what the simulated phone has approved`, {
    skip: 'skip' in python && index === 2 && python.skip,
  }, async (t) => {
    assert.match(lines[index] ?? '', line)
    const { NODE_OPTIONS: _conditions, ...inherited } = process.env
    const trial = await startTrial(t, ['bash', '-c', lines[index] ?? ''], {
      cwd: ROOT,
      env: { ...inherited, PIP_FIND_LINKS: wheels, PIP_RETRIES: '1' },
    })
    const { setUp, answer } = await trial.phone()
    await setUp()
    await trial.says(ASKED)
    assert.doesNotMatch(trial.printed.stdout, printed)
    const shown = JSON.parse((await answer('approve'))?.context?.text ?? '') as object
    assert.deepEqual({ ...shown, ...text }, shown)
    assert.deepEqual(await trial.ended, [0, null], trial.printed.stderr)
    assert.match(trial.printed.stdout, printed)
  })
