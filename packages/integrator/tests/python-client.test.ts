import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { canonicalJson, type FullSession, judgeSubmit } from '@bonded/contract'
import { bindingDigest } from '../src/index.ts'
import { everyOutcome, testBonded } from '../src/testing/testing.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const EXAMPLE = JSON.parse(
  readFileSync(resolve(ROOT, 'docs/reference/protocol-example.json'), 'utf8'),
) as { readonly context: { readonly sent: object; readonly canonical: string } }
const ROW = { workflow: 'w', action: 'a', owner: 'anna', context_digest: 'd'.repeat(43) }

/** Runs a program over the client of examples/django, with a value on its standard input. */
function python<T>(program: string, input: unknown): T {
  const code = `import json, sys, bonded\nv = json.load(sys.stdin)\nprint(json.dumps(${program}))`
  const printed = execFileSync('python3', ['-B', '-c', code], {
    cwd: resolve(ROOT, 'examples/django'),
    input: JSON.stringify(input),
    encoding: 'utf8',
    stdio: 'pipe',
  })
  return JSON.parse(printed) as T
}

test('the Python client writes the canonical JSON and the digest of the contract', async () => {
  const { sent, canonical } = EXAMPLE.context
  const records = [
    sent,
    {
      b: [null, true, -0, 2 ** 53 - 1],
      a: { '\u20ac': 'é\u0000\u001f"\\/\u007f\u2028', '\ud83d\ude00': 1 },
    },
    { '\ud83d\ude00': 1, '\ufb33': 2, 1: 'x', '': [] },
  ]
  const program = '[[bonded.canonical_json(r), bonded.binding_digest(r)] for r in v]'
  const written = python<[string, string][]>(program, records)
  assert.equal(written[0]?.[0], canonical)
  for (const [index, record] of records.entries())
    assert.deepEqual(written[index], [canonicalJson(record), await bindingDigest(record)])
  for (const value of ['0.5', '1e400', '9007199254740992', '"\\ud800"', '{"a": 1.0}'])
    assert.throws(() => python('bonded.canonical_json(json.loads(v))', value), value)
})

test('the Python client judges every session as the contract does', async () => {
  const cases: { session: FullSession; row: object }[] = []
  for (const outcome of everyOutcome()) {
    const bonded = testBonded(outcome)
    const call = async (method: 'GET' | 'POST', path: string, body?: object) => {
      const response = await bonded.fetch(`${bonded.service.baseUrl}/sessions${path}`, {
        method,
        headers: { authorization: `Bearer ${bonded.service.serverCredential}` },
        ...(body && { body: JSON.stringify(body) }),
        redirect: 'manual',
        signal: new AbortController().signal,
      })
      return JSON.parse(await response.text()) as FullSession
    }
    const { workflow, action, context_digest: digest } = ROW
    const { id } = await call('POST', '', { workflow, action, context: { display: [], digest } })
    cases.push({ session: await call('GET', `/${id}`), row: { ...ROW, session_id: id } })
  }
  const judged = python<[string, string[]][]>(
    `[bonded.judge_submit(c["session"], c["row"], "anna", "w", "a", "${ROW.context_digest}") for c in v]`,
    cases,
  )
  for (const [index, { session }] of cases.entries()) {
    const { workflow, action, context_digest } = ROW
    const verdict = judgeSubmit({
      session_id: session.id,
      owner: 'anna',
      pending: ROW,
      session,
      expected: { workflow, action, context_digest },
      now: Date.parse(session.server_time),
    })
    assert.deepEqual(judged[index], [verdict.decision, verdict.reasons], JSON.stringify(session))
  }
  assert.ok(new Set(judged.map(([decision]) => decision)).size === 3)
})
