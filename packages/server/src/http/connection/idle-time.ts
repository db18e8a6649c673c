import type { FastifyInstance } from 'fastify'
import type { ConnectionCaps } from './connection-caps.ts'

/**
 * Tells each client how long its connection stays open. Node would tell all of them the idle time
 * of clients. By the time of the response, a backend is known by its credential.
 */
export function announceIdleTime(app: FastifyInstance, caps: ConnectionCaps): void {
  app.addHook('onSend', ({ raw }, reply, _payload, done) => {
    if (reply.raw.shouldKeepAlive && !reply.hasHeader('connection'))
      reply.header('keep-alive', `timeout=${caps.idleSecondsOf(raw.socket)}`)
    done()
  })
}
