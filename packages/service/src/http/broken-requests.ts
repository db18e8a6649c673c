import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { makeId, type Reason } from '@bonded/contract'
import type { Service } from '../operations/service.ts'
import { clientAddress } from './client-address.ts'
import { takesOfNetworks } from './limits.ts'
import { rejectOnSocket } from './raw-response.ts'
import type { TellRequest } from './request-line.ts'

/** Not imported: see server.ts. */
const { METHODS } = process.getBuiltinModule('node:http')

/** What every 405 for a method that HTTP does not know lists: its path was never read. */
const ALL_METHODS = { allow: 'GET, POST, DELETE' }
/** The first line of a request: a token, a target and a version. */
const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) [^ \r\n]+ HTTP\/1\.[01]\r?\n/
/** A request line of the longest length that Node reads. */
const LONGEST_LINE_BYTES = 16 * 1024

interface ParseFailure extends NodeJS.ErrnoException {
  /** What the parser was given. Absent where the connection timed out. */
  readonly rawPacket?: Buffer
}

interface Context {
  readonly service: Service
  readonly tell: TellRequest
}

/**
 * Answers in the error shape, on the socket itself, what Node's parser rejects. Node would answer with
 * an empty body. A request that was answered already, and then breaks in its body, gets no second answer.
 */
export function answerBrokenRequests(server: Server, context: Context): void {
  const latest = new WeakMap<Duplex, ServerResponse>()
  server.on('request', (request: IncomingMessage, response: ServerResponse) =>
    latest.set(request.socket, response),
  )
  server.on('clientError', (failure: ParseFailure, socket) => {
    if (!socket.writable || answersAnother(latest.get(socket))) return void socket.destroy()
    void answer(context, socket, reasonOf(failure))
  })
  server.on('connect', (_request, socket) => void answer(context, socket, 'malformed_request'))
}

/**
 * Whether bytes written now would be read as the answer to another request, or as a second answer to
 * this one.
 */
function answersAnother(response: ServerResponse | undefined): boolean {
  if (response === undefined) return false
  return response.req.complete ? !response.writableFinished : response.headersSent
}

async function answer(
  { service, tell }: Context,
  socket: Duplex & { readonly remoteAddress?: string },
  reason: Reason,
): Promise<void> {
  // An error without a listener ends the process.
  socket.on('error', () => socket.destroy())
  if (await isRejectedOften(service, socket)) return void socket.destroy()
  const requestId = makeId('req', service.random.id())
  const headers = reason === 'method_not_allowed' ? ALL_METHODS : {}
  const status = rejectOnSocket(socket, { refusal: { reason }, requestId, headers })
  tell(
    { requestId, method: undefined, route: 'broken', status, refusal: { reason }, ms: 0 },
    'broken',
  )
}

/** Counts the request by the network of its connection: no header of it was read that names another. */
async function isRejectedOften(
  { limiter, settings }: Service,
  { remoteAddress }: { readonly remoteAddress?: string },
): Promise<boolean> {
  if (settings.limits === 'off') return false
  const address = clientAddress({ socket: { remoteAddress }, headers: {} }, 0)
  const takes = takesOfNetworks(settings.limits.rejected, { address, scope: '' })
  return !(await limiter.take(takes)).granted
}

function reasonOf({ code, rawPacket }: ParseFailure): Reason {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return 'headers_too_large'
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return 'request_timeout'
    default:
      return hasUnknownMethod(rawPacket) ? 'method_not_allowed' : 'malformed_request'
  }
}

/** Whether the bytes begin as a request of HTTP/1 does, with a method that Node's parser does not read. */
function hasUnknownMethod(packet: Buffer | undefined): boolean {
  const [, method] =
    REQUEST_LINE.exec(packet?.toString('latin1', 0, LONGEST_LINE_BYTES) ?? '') ?? []
  return method !== undefined && !METHODS.includes(method)
}
