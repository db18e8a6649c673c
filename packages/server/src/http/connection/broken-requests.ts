import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { makeId, type Reason } from '@bonded/contract'
import type { Service } from '@bonded/core/operations/service'
import { clientAddress } from './client-address.ts'
import { takesOfNetworks } from '../limits.ts'
import { rejectOnSocket } from './raw-response.ts'
import type { LogRequest } from '../request-line.ts'

/** Not imported: see server.ts. */
const { METHODS } = process.getBuiltinModule('node:http')

/** The `Allow` header of a 405 for an unknown method. Node never parsed the path. */
const ALL_METHODS = { allow: 'GET, POST, DELETE' }
/** A request line: a token, a target and a version. */
const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) [^ \r\n]+ HTTP\/1\.[01]\r?\n/
/** The longest request line that Node reads. */
const LONGEST_LINE_BYTES = 16 * 1024

interface ParseFailure extends NodeJS.ErrnoException {
  /** The bytes that the parser rejected. Absent if the connection timed out. */
  readonly rawPacket?: Buffer
}

interface Context {
  readonly service: Service
  readonly logRequest: LogRequest
}

/**
 * Responds to requests that Node's parser rejects, in the error shape, directly on the socket. Node
 * would respond with an empty body. A request that already had its response when its body broke
 * gets no second response. A connection that never had a request gets none: browsers connect ahead
 * of their requests, and would take the response for that to the first one.
 */
export function respondToBrokenRequests(server: Server, context: Context): void {
  const latest = new WeakMap<Duplex, ServerResponse>()
  server.on('request', (request: IncomingMessage, response: ServerResponse) =>
    latest.set(request.socket, response),
  )
  server.on('clientError', (failure: ParseFailure, socket) => {
    const isUnused = 'bytesRead' in socket && socket.bytesRead === 0
    if (isUnused || !socket.writable || respondsToAnother(latest.get(socket)))
      return void socket.destroy()
    respond(context, socket, reasonOf(failure))
  })
  server.on('connect', (_request, socket) => respond(context, socket, 'malformed_request'))
}

/**
 * Whether the client would take bytes written now for the response to another request, or for a
 * second response to this one.
 */
function respondsToAnother(response: ServerResponse | undefined): boolean {
  if (response === undefined) return false
  return response.req.complete ? !response.writableFinished : response.headersSent
}

function respond(
  { service, logRequest }: Context,
  socket: Duplex & { readonly remoteAddress?: string },
  reason: Reason,
): void {
  // Without a listener, a socket error would end the process.
  socket.on('error', () => socket.destroy())
  if (isRejectedOften(service, socket)) return void socket.destroy()
  const requestId = makeId('req', service.random.id())
  const headers = reason === 'method_not_allowed' ? ALL_METHODS : {}
  const status = rejectOnSocket(socket, { rejection: { reason }, requestId, headers })
  logRequest(
    { requestId, method: undefined, route: 'broken', status, rejection: { reason }, ms: 0 },
    'broken',
  )
}

/**
 * Counts the request for the network of its connection, because the service read no header that
 * names another address.
 */
function isRejectedOften(
  { limiter, settings }: Service,
  { remoteAddress }: { readonly remoteAddress?: string },
): boolean {
  if (settings.limits === 'off') return false
  const address = clientAddress({ socket: { remoteAddress }, headers: {} }, 0)
  const takes = takesOfNetworks(settings.limits.rejected, { address, scope: '' })
  return !limiter.take(takes).granted
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

/** Whether the bytes start with an HTTP/1 request line whose method Node's parser does not know. */
function hasUnknownMethod(packet: Buffer | undefined): boolean {
  const [, method] =
    REQUEST_LINE.exec(packet?.toString('latin1', 0, LONGEST_LINE_BYTES) ?? '') ?? []
  return method !== undefined && !METHODS.includes(method)
}
