import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  CREATE_SESSION,
  type Endpoint,
  ENDPOINTS,
  GET_SESSION,
  REMOVE_DEVICE,
  requestPath,
} from '@bonded/contract'

test('fills the parameters of a route and appends the query', () => {
  assert.equal(requestPath(CREATE_SESSION, {}), '/api/v1/sessions')
  assert.equal(requestPath(REMOVE_DEVICE, { device_id: 'dev_1' }), '/api/v1/devices/dev_1/removal')
  assert.equal(
    requestPath(
      GET_SESSION,
      { session_id: 'sess_1' },
      { nonce: 'n', wait_ms: 0, after: undefined },
    ),
    '/api/v1/sessions/sess_1?nonce=n&wait_ms=0',
  )
})

test('encodes a value that would add a segment or a query member', () => {
  assert.equal(
    requestPath(GET_SESSION, { session_id: '../x?y#z' }, { nonce: 'a&b=c' }),
    '/api/v1/sessions/..%2Fx%3Fy%23z?nonce=a%26b%3Dc',
  )
})

test('gives every endpoint of the table a parameter for each brace of its path', () => {
  for (const [name, endpoint] of Object.entries(ENDPOINTS) as [string, Endpoint][]) {
    const braces = [...endpoint.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter)
    const { properties = {} } = (endpoint.params ?? {}) as { properties?: object }
    assert.deepEqual(Object.keys(properties), braces, name)
  }
})
