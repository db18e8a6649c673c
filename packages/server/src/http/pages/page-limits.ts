import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LimitName } from '@bonded/contract'
import type { Service } from '@bonded/core/operations/service'
import type { RouteName } from '@bonded/core/ports/meter'
import { countCall, rejectExhausted } from '../limits.ts'
import { Rejected } from '../response/rejected.ts'

/**
 * Returns the options of a page's route: its name in the log and its rate limits. Every page counts
 * as `public`.
 */
export function limitPage(service: Service, routeName: RouteName, further?: LimitName) {
  return {
    config: { routeName },
    onRequest: (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      admitPage(service, { request, reply, further })
      done()
    },
  }
}

/**
 * Counts a request for a page against its client's network. A QR code costs more to draw, so it
 * also counts as a read of the session.
 */
function admitPage(
  service: Service,
  {
    request,
    reply,
    further,
  }: {
    readonly request: FastifyRequest
    readonly reply: FastifyReply
    readonly further: LimitName | undefined
  },
): void {
  const call = { service, request, caller: ANONYMOUS }
  const { routeName } = request.routeOptions.config
  const over =
    countCall(further === undefined ? ['public'] : [further, 'public'], call, reply) ??
    (routeName === 'qr'
      ? (rejectExhausted('not_found', call, reply) ?? countCall(['get'], call, reply))
      : undefined)
  if (over !== undefined) throw new Rejected(over)
}

const ANONYMOUS = { kind: 'anonymous' } as const
