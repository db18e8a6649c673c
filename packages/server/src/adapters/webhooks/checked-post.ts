import { lookup, Resolver } from 'node:dns/promises'
import http, { type IncomingMessage, type RequestOptions } from 'node:http'
import https from 'node:https'
import net, { isIP } from 'node:net'
import tls from 'node:tls'
import { parseRetryAfter } from '@bonded/contract'
import type { AttemptError, AttemptResult } from '@bonded/core/domain/webhooks'
import type { Clock } from '@bonded/core/ports/clock'
import { VERSION } from '../../version.ts'
import { type Destination, readDestination, type Resolve, resolveOnce } from './destination.ts'

const MAX_HEADER_BYTES = 8_192
/** How long an address may take to connect while another one is left. */
const CONNECT_WITHIN_MS = 3_000

export interface PostOptions {
  readonly clock: Clock
  /** Hosts with ports that may be reached whatever their address. */
  readonly hosts: readonly string[]
  readonly timeoutMs: number
  /** The rest of a response is not read. */
  readonly maxResponseBytes: number
  /** The default is the name servers of this machine. */
  readonly resolve?: Resolve
  /** The default is how this machine resolves the name of an allowed host. */
  readonly resolveAllowed?: Resolve
  /** Opens a connection, by default as node:https does. */
  readonly connect?: RequestOptions['createConnection']
}

/** A request, whose headers can depend on the time of the attempt. */
export interface Post {
  readonly url: string
  readonly body: string
  readonly headers: (now: number) => Readonly<Record<string, string>>
}

/**
 * Returns a function that sends a request once, to one of the addresses that were checked when its
 * name was resolved: the next one while none has connected. It never rejects: every failure is a
 * result.
 */
export function checkedPost(
  options: PostOptions,
): (post: Post, stop: AbortSignal) => Promise<AttemptResult> {
  const { clock, hosts, connect, timeoutMs, maxResponseBytes } = options
  const resolvers = {
    resolve: options.resolve ?? resolvePublic,
    resolveAllowed: options.resolveAllowed ?? resolveAllowed,
  }
  return async ({ url, body, headers }, stop) => {
    // Read again, because the operator can have removed a host since.
    const destination = readDestination(url, hosts)
    if (typeof destination === 'string') return { error: 'address_rejected' }
    const timeout = new AbortController()
    const cancel = clock.schedule(clock.now() + timeoutMs, () => timeout.abort())
    const signal = AbortSignal.any([stop, timeout.signal])
    try {
      const addresses = await untilAborted(resolveOnce(destination, resolvers), signal)
      if (addresses === undefined) return { error: 'address_rejected' }
      return await firstConnected(addresses, { clock, signal }, (address, attempt) => {
        const now = clock.now()
        const given = { body, headers: headers(now), connect, now, maxResponseBytes }
        return request(destination, { ...given, ...attempt, address })
      })
    } catch (failure) {
      return { error: timeout.signal.aborted ? 'timed_out' : errorOf(failure) }
    } finally {
      cancel()
    }
  }
}

/** What a request to one of the addresses gets. */
interface Attempt {
  readonly signal: AbortSignal
  /** Called when the connection is open. From then on, the request may take effect. */
  readonly connected: () => void
}

/**
 * Sends to one address after another, until a connection opens. Its result is the result. If none
 * opens, it is the failure that says the most about the receiver.
 */
async function firstConnected(
  addresses: readonly string[],
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  send: (address: string, attempt: Attempt) => Promise<AttemptResult>,
): Promise<AttemptResult> {
  const [address = '', ...others] = addresses
  if (others.length === 0) return send(address, { signal, connected: () => undefined })
  let isConnected = false
  let failed: unknown
  const slow = new AbortController()
  const cancel = clock.schedule(clock.now() + CONNECT_WITHIN_MS, () => slow.abort())
  const connected = () => {
    isConnected = true
    cancel()
  }
  try {
    return await send(address, { signal: AbortSignal.any([signal, slow.signal]), connected })
  } catch (failure) {
    if (isConnected || signal.aborted) throw failure
    failed = failure
  } finally {
    cancel()
  }
  return firstConnected(others, { clock, signal }, send).catch((failure: unknown) => {
    const [first, last] = [errorOf(failed), errorOf(failure)]
    const isClearer = first !== 'closed_early' && VAGUE.indexOf(first) < VAGUE.indexOf(last)
    throw isClearer ? failed : failure
  })
}

type Connect = NonNullable<RequestOptions['createConnection']>
// The options of a request have those of its connection.
const connectTls: Connect = (options) => tls.connect(options as tls.ConnectionOptions)
const connectTcp: Connect = (options) => net.connect(options as net.NetConnectOpts)

function request(
  { url, host, port }: Destination,
  given: {
    readonly address: string
    readonly body: string
    readonly headers: Readonly<Record<string, string>>
    readonly signal: AbortSignal
    readonly connected: () => void
    readonly connect: RequestOptions['createConnection']
    readonly now: number
    readonly maxResponseBytes: number
  },
): Promise<AttemptResult> {
  const { promise, resolve, reject } = Promise.withResolvers<AttemptResult>()
  const isTls = url.protocol === 'https:'
  const sent = (isTls ? https : http).request({
    method: 'POST',
    // The checked address: nothing resolves the name again.
    host: given.address,
    port,
    path: `${url.pathname}${url.search}`,
    maxHeaderSize: MAX_HEADER_BYTES,
    signal: given.signal,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    createConnection: given.connect ?? (isTls ? connectTls : connectTcp),
    headers: {
      ...given.headers,
      host: url.host,
      'content-length': Buffer.byteLength(given.body),
      'user-agent': `bonded-sessions/${VERSION}`,
    },
  })
  sent.on('error', reject)
  sent.on('socket', (socket) => socket.once(isTls ? 'secureConnect' : 'connect', given.connected))
  sent.on('response', (response: IncomingMessage) => {
    // From here on the status counts, also if the body ends too late or not at all.
    sent.off('error', reject).on('error', () => {})
    const { statusCode: status = 0, headers } = response
    const retryAfterMs = parseRetryAfter(headers['retry-after'] ?? null, given.now)
    readBeginning(response, given.maxResponseBytes, (body) => {
      resolve({ status, body, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) })
      sent.destroy()
    })
  })
  sent.end(given.body)
  return promise
}

/** Reads the beginning of a response. However it ends, its status counts. */
function readBeginning(
  response: IncomingMessage,
  maxBytes: number,
  done: (text: string) => void,
): void {
  const chunks: Buffer[] = []
  let size = 0
  const end = () => {
    const text = Buffer.concat(chunks).subarray(0, maxBytes).toString()
    // PostgreSQL stores no null character.
    done(text.replaceAll('\0', ''))
  }
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    if (size >= maxBytes) end()
  })
  response.on('end', end)
  response.on('error', end)
  response.on('close', end)
}

const resolver = new Resolver({ timeout: 2_000, tries: 2 })

/** Resolves by DNS alone, so that no local file gives a name another meaning. */
const resolvePublic: Resolve = async (name) => {
  const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const addresses = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  if (addresses.length > 0) return addresses
  throw Object.assign(new Error(`${name} has no address`), { code: 'ENOTFOUND' })
}

/** Resolves as the system does: the operator's hosts can be in its files. */
const resolveAllowed: Resolve = async (name) =>
  (await lookup(name, { all: true })).map(({ address }) => address)

function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(new Error('aborted'))
  signal.addEventListener('abort', abort, { once: true })
  return Promise.race([work, promise]).finally(() => signal.removeEventListener('abort', abort))
}

/** What is wrong with the TLS of a receiver, by the codes of OpenSSL and of Node. */
const TLS_ERRORS: readonly (readonly [AttemptError, RegExp])[] = [
  ['intermediate_missing', /^UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT)/],
  ['certificate_expired', /^CERT_HAS_EXPIRED$/],
  ['certificate_of_other_name', /^ERR_TLS_CERT_ALTNAME_INVALID$/],
  ['certificate_untrusted', /SELF_SIGNED_CERT/],
  ['client_certificate_required', /ALERT_CERTIFICATE_REQUIRED$/],
  ['tls_failed', /CERT|TLS|SSL|UNABLE_TO|EPROTO/],
]

/** The failures of an address that say nothing about the receiver behind it, the vaguest last. */
const VAGUE: readonly AttemptError[] = ['not_reachable', 'service_failed']

function errorOf(failure: unknown): AttemptError {
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : ''
  if (/^(ENOTFOUND|ENODATA|EAI_|ESERVFAIL)/.test(code)) return 'name_not_found'
  const [reason] = TLS_ERRORS.find(([, codes]) => codes.test(code)) ?? []
  if (reason !== undefined) return reason
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT)/.test(code)) return 'not_reachable'
  // This machine has no file descriptor, port, address, memory, or permission for a connection.
  if (/^(E[MN]FILE|EADDRNOTAVAIL|EAFNOSUPPORT|ENOBUFS|ENOMEM|EACCES|EPERM)$/.test(code))
    return 'service_failed'
  return 'closed_early'
}
