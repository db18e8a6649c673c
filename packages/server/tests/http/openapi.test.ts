import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { ENDPOINTS, type Endpoint, FullSession, LIMITS, REASONS } from '@bonded/contract'
import { harness } from '../../../../tests/harness/harness.ts'
import { CREATES, document, resolved } from '../../../../tests/harness/openapi-replies.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

test('serves a valid OpenAPI document, against which all tests validate responses', async () => {
  const served = await h.api('GET', '/openapi.json')
  const result = await new Validator().validate(served.body)
  assert.ok(result.valid, JSON.stringify('errors' in result ? result.errors : ''))
  assert.equal(served.body.openapi, '3.1.0')
  assert.deepEqual(Object.keys(served.body.paths), Object.keys(document.paths))
})

test('lists every endpoint of the table, and the service responds to each', async () => {
  for (const endpoint of Object.values(ENDPOINTS) as Endpoint[]) {
    assert.ok(
      document.paths[endpoint.path]?.[endpoint.method.toLowerCase()],
      `${endpoint.method} ${endpoint.path}`,
    )
    const reply = await h.call(endpoint.method, endpoint.path.replace(/\{.*\}/, 'x'))
    assert.notEqual(reply.body?.error?.reason, 'unknown_endpoint', endpoint.path)
  }
})

test('documents for every endpoint the credentials of its callers', () => {
  const credentials = {
    anonymous: undefined,
    backend: 'sk_beta_…',
    browser: 'pk_beta_…',
    phone: 'dt_…',
    portal: 'wpt_…',
  }
  const { securitySchemes } = document.components
  for (const { method, path, callers } of Object.values(ENDPOINTS) as Endpoint[]) {
    const { security = [] } = document.paths[path]?.[method.toLowerCase()] ?? {}
    const documented = security.map((schemes) => {
      const [name] = Object.keys(schemes)
      return name && securitySchemes[name]?.description.split(':')[0]
    })
    const expected = callers.map((caller) => credentials[caller])
    assert.deepEqual(new Set(documented), new Set(expected), `${method} ${path}`)
  }
})

test('names every request and response schema, so that generated clients have named types', () => {
  const unnamed = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ operationId, requestBody, responses }) => {
      const schemas = [requestBody, ...Object.values(responses)].flatMap(
        (one) => one?.content?.['application/json'].schema ?? [],
      )
      const whole = schemas.flatMap((schema) =>
        'anyOf' in schema ? (schema.anyOf as readonly object[]) : [schema],
      )
      return whole.some((schema) => !('$ref' in schema)) ? [operationId] : []
    }),
  )
  // The response with the document itself has no fixed schema.
  assert.deepEqual(unnamed, ['readOpenApi'])
  const { properties } = resolved({
    $ref: '#/components/schemas/FullSession',
  }) as typeof FullSession
  assert.deepEqual(Object.keys(properties), Object.keys(FullSession.properties))
})

test('closes every request, and leaves every response open for members of later versions', () => {
  const isClosed = (schema: object) =>
    JSON.stringify(resolved(schema)).includes('"additionalProperties":false')
  const schemasOf = (
    bodies: readonly ({ content?: { 'application/json': { schema: object } } } | undefined)[],
  ) => bodies.flatMap((body) => body?.content?.['application/json'].schema ?? [])
  for (const { operationId, requestBody, responses } of Object.values(document.paths).flatMap(
    (methods) => Object.values(methods),
  )) {
    assert.ok(schemasOf([requestBody]).every(isClosed), operationId)
    assert.ok(!schemasOf(Object.values(responses)).some(isClosed), operationId)
  }
})

test('documents the limits of every endpoint and the limit headers of its responses', () => {
  for (const [name, endpoint] of Object.entries(ENDPOINTS) as [string, Endpoint][]) {
    const operation = document.paths[endpoint.path]?.[endpoint.method.toLowerCase()]
    const { 429: limited, [endpoint.status]: success } = operation?.responses ?? {}
    const isLimited = endpoint.limits !== undefined || !endpoint.callers.includes('anonymous')
    assert.deepEqual(
      Object.keys(limited?.headers ?? {}),
      isLimited ? ['RateLimit', 'RateLimit-Policy', 'Retry-After'] : [],
      name,
    )
    assert.equal('RateLimit' in (success?.headers ?? {}), endpoint.limits !== undefined, name)
    for (const limit of endpoint.limits ?? [])
      assert.ok(
        operation?.description?.includes(`\`${limit}\`: ${LIMITS[limit].quota}`),
        `${name}, ${limit}`,
      )
  }
})

test('contains the completion secret only in the response to create', () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const shapes = Object.values(operation.responses).map(
        ({ content }) => content && resolved(content['application/json'].schema),
      )
      const mentions = JSON.stringify(shapes).includes('"completion_secret"')
      assert.equal(mentions, CREATES.includes(operation.operationId), `${method} ${path}`)
    }
  }
})

test('gives every reason a code and a message in full sentences', () => {
  for (const [reason, { code, message }] of Object.entries(REASONS)) {
    assert.match(reason, /^[a-z][a-z0-9_]*$/)
    assert.match(message, /^[A-Z].*[.]$/, reason)
    assert.ok(code.length > 0)
  }
})

test('sends the fixed headers with every response, page and rejection', async () => {
  for (const path of ['/version', '/nothing', '/bond', '/v1/pulse.js', '/api/v1/sessions/x']) {
    const { headers } = await h.call('GET', path)
    assert.equal(headers['x-content-type-options'], 'nosniff', path)
    assert.equal(headers['referrer-policy'], 'no-referrer', path)
    assert.match(String(headers['content-security-policy']), /frame-ancestors 'none'/, path)
    assert.match(String(headers['strict-transport-security']), /max-age=31536000/, path)
    assert.match(String(headers['x-request-id']), /^req_[0-9A-Za-z]{22}$/, path)
  }
})

test('states that an operator issues credentials after review', async () => {
  const { body } = await h.call('GET', '/api/v1/openapi.json')
  assert.match(body.info.description, /Private beta\. .*an operator issues them after review/)
})
