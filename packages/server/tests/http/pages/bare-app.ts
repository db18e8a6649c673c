import type { RequestId } from '@bonded/contract'
import Fastify, { type FastifyInstance } from 'fastify'
import { Rejected } from '../../../src/http/response/rejected.ts'
import { rejectionToWire } from '../../../src/http/response/rejection-to-wire.ts'

/** Only what serves pages, with the statuses that the service gives to rejections. */
export function bareApp(): FastifyInstance {
  const app = Fastify()
  app.setErrorHandler((error, _request, reply) =>
    error instanceof Rejected
      ? reply.code(rejectionToWire(error.rejection, 'req_1' as RequestId).status).send()
      : reply.send(error),
  )
  return app
}
