import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatedForm as fastifyForm } from '../src/form/fastify.ts'
import { gatedForm as fetchForm } from '../src/form/fetch.ts'
import type { GateError } from '../src/index.ts'
import { harness, OWNER, WORKFLOW } from './harness.ts'

const DISPLAYS: Readonly<Record<string, () => never>> = {
  throws: () => {
    throw new TypeError('amount is undefined')
  },
  'returns no list': () => undefined as never,
}

for (const [what, display] of Object.entries(DISPLAYS))
  test(`a display that ${what} is a JSON answer, and an error of its own in the log`, async () => {
    const h = harness()
    const errors: GateError[] = []
    const options = {
      gate: h.gate,
      ...WORKFLOW,
      owner: () => OWNER,
      address: 'visitors_share_one_limit' as const,
      record: () => ({ amount: 1 }),
      display,
      accept: async () => 'A-1',
      onError: (error: GateError) => void errors.push(error),
    }
    const request = new Request('https://bank.example/bond-session', { method: 'POST' })
    const response = await fetchForm(options).session(request)
    const body = (await response.json()) as { error: { code: string } }
    assert.deepEqual([response.status, body.error.code], [500, 'display_failed'])
    let status = 0
    const code = (given: number) => ((status = given), { headers: () => undefined })
    const reply = await fastifyForm(options).session({ headers: {} }, { code })
    assert.deepEqual([status, reply], [500, body])
    for (const error of errors) {
      assert.equal(error.code, 'invalid_configuration')
      assert.match(error.message, /^The option display of gatedForm threw: .*undefined/)
      assert.ok(error.cause instanceof TypeError)
    }
    assert.equal(errors.length, 2)
    assert.equal(h.service.seen.length, 0)
  })
