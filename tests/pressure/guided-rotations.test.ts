import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '../../scripts/site/documents.ts'
import { walkGuide } from '../samples/guide.ts'

const GUIDE = { path: 'docs/guides/operate/keys.md', test: import.meta.filename }

test('the guide rotates every key at a pace', { timeout: 1_800_000 }, () =>
  walkGuide(GUIDE, async (next) => {
    const { NODE_TEST_CONTEXT: _testContext, ...env } = process.env
    const command = next()({ '600': '11', '100': '20' })
    const { stdout } = await promisify(execFile)('sh', ['-ec', command], { cwd: ROOT, env })
    const [, calls] = /(\d+) calls, \d+ events, 0 failed/.exec(stdout) ?? []
    // A lifecycle has several calls.
    assert.ok(Number(calls) > 11 * 20, stdout)
  }),
)
