import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:https'

const EXPECTED: Readonly<Record<Method, number>> = { POST: 201, GET: 200, DELETE: 204 }
type Method = 'POST' | 'GET' | 'DELETE'

/** A backend that keeps its connections to a proxy open, and repeats no call. */
export function openBackend(port: number, credential: string) {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const failed: string[] = []
  let calls = 0
  const call = async (method: Method, path: string, expected = EXPECTED[method]) => {
    calls += 1
    const { promise, resolve, reject } = Promise.withResolvers<{ status?: number; text: string }>()
    const headers = {
      authorization: `Bearer ${credential}`,
      ...(method === 'POST' && { 'idempotency-key': randomUUID() }),
    }
    const sent = request({ port, path: `/api/v1${path}`, method, headers, agent }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += String(chunk)))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end()
    const reply = await promise.catch((failure: unknown) => ({ status: 0, text: String(failure) }))
    if (reply.status !== expected) failed.push(`${method}: ${reply.status} ${reply.text}`)
    return reply
  }
  return {
    counts: () => ({ calls, failed }),
    async runSession() {
      const { status, text } = await call('POST', '/sessions')
      if (status !== EXPECTED.POST) return
      const { id } = JSON.parse(text) as { id: string }
      await call('GET', `/sessions/${id}`)
      // A drain closes the connection of a rejected call as well.
      await call('POST', `/sessions/${id}/form-completed`, 400)
      await call('GET', '/sessions/sess_0000000000000000000000', 404)
      await call('DELETE', `/sessions/${id}`)
    },
    [Symbol.dispose]: () => agent.destroy(),
  }
}
