import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENDPOINTS, type Endpoint } from '@bonded/contract'
import { Timestamp } from '../../../../contract/src/schemas/primitives.ts'
import { requestValidator } from '../../../src/http/body/request-validator.ts'

test('knows every format and keyword of the request schemas', ({ mock }) => {
  // ajv ignores an unknown format and warns, so a misspelled rule would be no rule.
  const warn = mock.method(console, 'warn')
  const schemas = Object.values(ENDPOINTS as Readonly<Record<string, Endpoint>>).flatMap(
    ({ body, query, headers }) => [body?.schema, query, headers].filter((one) => one !== undefined),
  )
  for (const schema of schemas) requestValidator({ schema })({})
  assert.ok(schemas.length > 10)
  assert.deepEqual(
    warn.mock.calls.map(({ arguments: [message] }) => message),
    [],
  )
})

test('reports the violation of each call, and none after a valid call', () => {
  const schema = { type: 'object', required: ['id'], properties: { id: { type: 'string' } } }
  const validate = requestValidator({ schema })
  assert.equal(validate({}), false)
  assert.equal(validate.errors?.[0]?.keyword, 'required')
  assert.equal(validate({ id: 'x' }), true)
  assert.equal(validate.errors, null)
})

test('accepts a time only in its one form, and only if it exists', () => {
  const validate = requestValidator({ schema: Timestamp })
  for (const time of ['2026-11-21T09:30:00.000Z', '2028-02-29T00:00:00.000Z'])
    assert.ok(validate(time), time)
  for (const time of [
    '2026-02-29T00:00:00.000Z',
    '2026-02-30T00:00:00.000Z',
    '2026-11-21T24:00:00.000Z',
    '2026-06-30T23:59:60.000Z',
    '2026-11-21T09:30:00Z',
    '2026-11-21T09:30:00.000+00:00',
    '2026-11-21 09:30:00.000Z',
  ])
    assert.ok(!validate(time), time)
})
