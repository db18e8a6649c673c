import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request as openRequest, ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { gatedForm as expressForm } from '../src/form/express.ts'
import { gatedForm as fastifyForm } from '../src/form/fastify.ts'
import { gatedForm as nodeForm } from '../src/form/node.ts'
import { harness, OWNER, WORKFLOW } from './harness.ts'

const DRAFT = { amount: 12_500 }

/** The options of a form, whose accepted drafts are in `saved`. */
function options() {
  const h = harness()
  const saved: object[] = []
  const form = {
    gate: h.gate,
    ...WORKFLOW,
    owner: (): string => OWNER,
    address: 'visitors_share_one_limit' as const,
    record: () => DRAFT,
    display: () => [{ label: 'Amount', value: '€12,500' }],
    accept: async (_tx: unknown, draft: object): Promise<unknown> => `A-${saved.push(draft)}`,
  }
  return { ...h, saved, form }
}

/** A program that has nothing but `node:http`, with the two routes. */
async function program(form = options().form) {
  const routes = nodeForm(form)
  const server = createServer((request, response) => {
    void (request.url === '/bond-session' ? routes.session : routes.submit)(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const send = async (path: string, body: string, method = 'POST') => {
    const headers = { 'content-type': 'application/json' }
    const request = openRequest({ host: '127.0.0.1', port, path, method, headers })
    request.end(body)
    const [response] = await once(request, 'response')
    let text = ''
    for await (const chunk of response) text += String(chunk)
    return { status: response.statusCode as number, body: JSON.parse(text) }
  }
  return {
    port,
    send,
    [Symbol.asyncDispose]: async () => server.close().closeAllConnections(),
  }
}

test('node: a program without a framework bonds a session, and runs the action once', async () => {
  const { form, service, saved } = options()
  await using server = await program(form)
  const session = await server.send('/bond-session', '{}')
  assert.equal(session.status, 201)
  service.bond(session.body.id)
  const submit = JSON.stringify({ ...DRAFT, session_id: session.body.id })
  const accepted = await server.send('/applications', submit)
  assert.deepEqual([accepted.status, accepted.body.outcome], [200, 'accepted'])
  assert.equal((await server.send('/applications', submit)).status, 403)
  assert.deepEqual(saved, [DRAFT])
})

test('node: a form that is too long is answered, and ends no connection', async () => {
  await using server = await program()
  const long = JSON.stringify({ note: 'x'.repeat(1_000_000) })
  const socket = connect(server.port, '127.0.0.1')
  const head = `POST /applications HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n`
  const whole = `${head}content-length: ${long.length}\r\n\r\n${long}`
  socket.write(whole + whole)
  let text = ''
  for await (const chunk of socket) {
    text += String(chunk)
    if (text.match(/HTTP\/1\.1 400/g)?.length === 2 && text.endsWith('}}')) break
  }
  assert.equal(text.match(/body_missing/g)?.length, 2)
})

test('node: an error of the program answers 500, and the server goes on', async (t) => {
  const log = t.mock.method(console, 'error', () => {})
  const { form } = options()
  const fault = new Error('the database is closed')
  let broken = true
  const owner = () => {
    if (broken) throw fault
    return OWNER
  }
  await using server = await program({ ...form, owner })
  const failed = await server.send('/bond-session', '{}')
  assert.deepEqual([failed.status, failed.body.error.code], [500, 'internal_error'])
  assert.doesNotMatch(JSON.stringify(failed.body), /database/)
  assert.deepEqual(log.mock.calls[0]?.arguments, [fault])
  broken = false
  assert.equal((await server.send('/bond-session', '{}')).status, 201)
})

test('node: an error of the gate is reported once, and a result without a JSON form answers 500', async (t) => {
  const log = t.mock.method(console, 'error', () => {})
  const { form, service } = options()
  const codes: string[] = []
  const onError = ({ code }: { readonly code: string }) => void codes.push(code)
  await using server = await program({ ...form, accept: async () => 1n, onError } as typeof form)
  service.fault({ status: 401, body: '{"error":{"code":"unauthorized"}}' })
  assert.equal((await server.send('/bond-session', '{}')).status, 500)
  assert.deepEqual([codes, log.mock.callCount()], [['unauthorized'], 0])
  const { body } = await server.send('/bond-session', '{}')
  service.bond(body.id)
  const submit = JSON.stringify({ ...DRAFT, session_id: body.id })
  assert.equal((await server.send('/applications', submit)).status, 500)
  assert.equal(log.mock.callCount(), 1)
})

test('node: only a POST creates a session', async () => {
  const { form, service } = options()
  await using server = await program(form)
  for (const method of ['GET', 'PUT', 'DELETE'])
    assert.equal((await server.send('/bond-session', '', method)).status, 405)
  assert.equal(service.seen.length, 0)
})

test('node: uses the body that a middleware has parsed, and passes errors to its next', async () => {
  const { form, service } = options()
  const routes = nodeForm(form)
  const errors: unknown[] = []
  const server = createServer((request, response) => {
    const parsed = Object.assign(request, { body: DRAFT })
    void routes.submit(parsed, response, (error) => {
      errors.push(error)
      response.writeHead(500).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  assert.equal((await fetch(url, { method: 'POST' })).status, 403)
  form.owner = () => {
    throw new Error('the database is closed')
  }
  assert.equal((await fetch(url, { method: 'POST' })).status, 500)
  assert.match(String(errors), /database is closed/)
  assert.equal(service.seen.length, 0)
  server.close().closeAllConnections()
})

test('express and fastify: a response of node:http is refused before anything happens', async () => {
  const { form, service } = options()
  const request = { headers: {} }
  const response = new ServerResponse({ method: 'POST' } as never) as never
  const refused = { code: 'invalid_configuration', message: /@bonded\/integrator\/node/ }
  const express = expressForm(form)
  const fastify = fastifyForm(form)
  for (const route of ['session', 'submit'] as const) {
    assert.throws(() => express[route](request, response, undefined as never), refused)
    await assert.rejects(fastify[route](request, response), refused)
  }
  assert.equal(service.seen.length, 0)
})

test('express: an answer that cannot be sent any more is passed to the framework', async () => {
  const late = new Error('the headers are sent')
  const status = () => {
    throw late
  }
  const passed = await new Promise((resolve) => {
    expressForm(options().form).session({ headers: {} }, { status }, resolve)
  })
  assert.equal(passed, late)
})
