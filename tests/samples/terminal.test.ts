import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { walkGuide } from './guide.ts'
import { typed } from './replacements.ts'
import { Terminal } from './terminal.ts'

const terminalAt = (folder = tmpdir()) => new Terminal({ folder, env: process.env })

test('a terminal keeps variables and the folder from block to block', async () => {
  await using terminal = terminalAt()
  assert.equal(await terminal.add('A=1\ncd /\nf() { echo "$A $PWD"; }'), '')
  assert.equal(await terminal.add('f'), '1 /\n')
  assert.equal(await terminal.start(() => 'pwd').ended, '/\n')
})

test('a terminal shows what a block prints before its end, and ends what it leaves running', async () => {
  await using terminal = terminalAt()
  const block = terminal.add('sleep 600 & echo begun; read -r line < fifo || true; echo ended')
  const [begun] = await terminal.printed(/^begun$/m)
  assert.equal(begun, 'begun')
  assert.equal(await block, 'begun\nended\n')
})

test('a block that fails rejects with its output', async () => {
  await using terminal = terminalAt()
  await assert.rejects(
    terminal.add('sleep 600 &\necho out; echo why >&2; false; echo no'),
    (failure) => {
      const text = String(failure)
      return text.includes('out') && text.includes('why') && !text.includes('no\n')
    },
  )
})

test('a test can replace only what a guide declares, by a value of its kind', () => {
  const path = 'docs/guides/auditor.md'
  const sample = { path, line: 1, language: 'sh', code: 'curl https://bond.example', label: '' }
  const address = { 'https://bond.example': 'http://127.0.0.1:80' }
  assert.equal(typed(sample, address), 'curl http://127.0.0.1:80')
  assert.throws(() => typed(sample, { curl: 'true' }), /REPLACEMENTS has no curl/)
  assert.throws(() => typed(sample, { 'https://bond.example': 'http://a; true' }))
})

test('a walk fails at a block that the test does not run, and after the last one', async () => {
  const guide = {
    path: 'docs/guides/auditor.md',
    test: `${process.cwd()}/packages/cli/tests/audit/audit.test.ts`,
  }
  await assert.rejects(
    walkGuide(guide, async (next) => next()),
    /auditor\.md:\d+ did not run/,
  )
  await assert.rejects(
    walkGuide(guide, async (next) => {
      for (;;) next()
    }),
    /has 4 blocks/,
  )
})
