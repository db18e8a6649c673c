import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { ENDPOINTS } from '@bonded/contract'
import { harness } from '../harness/harness.ts'
import { call, skipWithoutNginx as skip, startNginx } from './nginx.ts'

/** More nodes than lost responses: nginx leaves out each that lost one. All have one address. */
const NODES = 64

interface Answer {
  readonly status: number
  readonly text: string
}

/** A node that responds to each kind of request, and loses its first response to it. */
async function startLossy(respond: (request: IncomingMessage, body: Buffer) => Promise<Answer>) {
  const answers = new Map<string, Answer[]>()
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const { method, url } = request
    const answer = await respond(request, await buffer(request))
    const all = [...(answers.get(`${method} ${url}`) ?? []), answer]
    answers.set(`${method} ${url}`, all)
    if (url?.startsWith('/health')) response.end()
    else if (all.length === 1) request.socket.destroy()
    else response.writeHead(answer.status, { connection: 'close' }).end(answer.text)
  }
  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    ports: Array<number>(NODES).fill(port),
    answersTo: (method: string, path: string) => answers.get(`${method} ${path}`) ?? [],
    async [Symbol.asyncDispose]() {
      server.close().closeAllConnections()
    },
  }
}

/** What is created once for each `Idempotency-Key`, and again by a repetition without one. */
const CREATES = ['/api/v1/sessions', '/api/v1/quorums']

test('the proxy sends a POST again exactly where the retry rule of its endpoint permits it', {
  skip,
}, async () => {
  await using node = await startLossy(async () => ({ status: 200, text: '' }))
  await using proxy = await startNginx(node.ports)
  const posts = Object.values(ENDPOINTS).filter(({ method }) => method === 'POST')
  const sent = async (path: string, headers = {}) => {
    const { status } = await call(proxy.port, path, { method: 'POST', headers })
    return [path, status, node.answersTo('POST', path).length]
  }
  const [again, only] = [
    [200, 2],
    [502, 1],
  ]
  for (const { path: template, retry } of posts) {
    const path = template.replaceAll(/\{\w+\}/g, 'x')
    const isCreate = CREATES.includes(path)
    const isSentAgain = retry === 'repeat' && !isCreate
    assert.deepEqual(await sent(path), [path, ...(isSentAgain ? again : only)])
    const withKey = `${path}?key`
    if (isCreate)
      assert.deepEqual(await sent(withKey, { 'idempotency-key': 'k1' }), [withKey, ...again])
  }
})

test('a POST whose response is lost after the commit takes effect once, and the proxy returns its result', {
  skip,
}, async () => {
  await using h = await harness()
  await using node = await startLossy(async ({ method = '', url = '', headers }, body) => {
    const { connection: _connection, ...passed } = headers as Record<string, string>
    return await h.call(method, url, { headers: passed, raw: body })
  })
  await using proxy = await startNginx(node.ports)
  const post = async (path: string, token: string, headers = {}, body?: unknown) => {
    const reply = await call(proxy.port, `/api/v1${path}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
    })
    const [lost, repeated, ...others] = node.answersTo('POST', `/api/v1${path}`)
    assert.deepEqual(repeated?.status, lost?.status, path)
    assert.equal(reply.text, repeated?.text, path)
    assert.deepEqual(others, [])
    return { status: reply.status, text: reply.text, lost: lost?.text }
  }
  const { server } = h.shop
  const key = { 'idempotency-key': 'k1' }
  const created = await post('/sessions', server, key, { workflow: 'credit_application' })
  assert.equal(created.status, 201, created.text)
  const session = JSON.parse(created.text) as Awaited<ReturnType<typeof h.create>>
  assert.equal((JSON.parse(created.lost ?? '') as { id: string }).id, session.id)

  const phone = await h.register()
  const named = { nonce: session.nonce, device_id: phone.device_id }
  const path = `/sessions/${session.id}`
  assert.equal((await post(`${path}/claim`, phone.device_token, {}, named)).status, 200)
  await h.attest(phone, await h.view(phone, session))
  const secret = { 'x-bond-completion-secret': session.completion_secret ?? '' }
  const completed = await post(`${path}/form-completed`, server, secret)
  assert.equal(completed.status, 200, completed.text)
  assert.equal(completed.lost, completed.text)
})
