import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from '../operations/service.ts'
import type { RouteName } from '../ports/meter.ts'
import { countCall, rejectExhausted } from './limits.ts'
import { Refused } from './refused.ts'

/** The options of a route that serves a page: its name in the log, and the limit of its network. */
export function limitPage(service: Service, routeName: RouteName) {
  return {
    config: { routeName },
    onRequest: (request: FastifyRequest, reply: FastifyReply) => admitPage(service, request, reply),
  }
}

/** Counts a page by the network that asks for it. Drawing a QR code costs more, and is counted as a read too. */
async function admitPage(
  service: Service,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const call = { service, request, caller: ANYBODY }
  const { routeName } = request.routeOptions.config
  const over =
    (await countCall(['public'], call, reply)) ??
    (routeName === 'qr'
      ? ((await rejectExhausted('not_found', call, reply)) ??
        (await countCall(['get'], call, reply)))
      : undefined)
  if (over !== undefined) throw new Refused(over)
}

const ANYBODY = { kind: 'anybody' } as const
