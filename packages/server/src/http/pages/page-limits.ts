import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LimitName } from '@bonded/contract'
import type { Service } from '@bonded/core/operations/service'
import type { RouteName } from '@bonded/core/ports/meter'
import { countCall, rejectExhausted } from '../limits.ts'
import { Rejected } from '../response/rejected.ts'

/**
 * Returns the options of a page's route: its name in the log and its rate limits. Every page counts
 * as `public`. A QR code costs more to draw, so it also counts as a read of the session.
 */
export function limitPage(service: Service, routeName: RouteName, further?: LimitName) {
  const names: readonly LimitName[] = further === undefined ? ['public'] : [further, 'public']
  return {
    config: { routeName },
    onRequest: (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
      const call = { service, request, caller: ANONYMOUS }
      const over =
        countCall(names, call, reply) ??
        (routeName === 'qr'
          ? (rejectExhausted('not_found', call, reply) ?? countCall(['get'], call, reply))
          : undefined)
      if (over !== undefined) throw new Rejected(over)
      done()
    },
  }
}

const ANONYMOUS = { kind: 'anonymous' } as const
