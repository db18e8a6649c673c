import { createHash, randomBytes, randomInt } from 'node:crypto'
import { ENDPOINTS, makeId, type TenantId } from '@bonded/contract'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import type { Signer } from '@bonded/core/ports/signer'
import { RECEIPT_KEYS_PATH } from '@bonded/server/http/pages/receipt-keys'
import { RELATED_ORIGINS_PATH } from '@bonded/server/http/pages/related-origins'
import { portalPath } from '@bonded/server/http/pages/webhook-portal'
import { INTEGRITY_PATH } from '@bonded/server/http/pages/hosted-script'
import type { Config } from '@bonded/server/settings/config'
import { VERSION } from '@bonded/server/version'
import { type Answer, type Ask, ask, jsonOf } from './ask.ts'

/** What this machine knows about the service, to compare. */
export interface Known {
  readonly config: Pick<
    Config,
    'publicOrigin' | 'rpId' | 'relatedOrigins' | 'trustedProxies' | 'environment'
  >
  /** Whether a service runs on this machine. */
  readonly runsHere: boolean
  /** The keys of receipts; undefined if they are off or unknown. */
  readonly receiptKeys: Signer['publicKeys'] | undefined
  /** A tenant of the database, if it has one. */
  readonly tenantId: TenantId | undefined
  readonly now: number
  readonly ca?: string
}

export interface Looked {
  readonly says: string
  readonly warnings?: readonly string[]
  readonly skipped?: true
}

type Look = (known: Known, get: (path: string, request?: Ask) => Promise<Answer>) => Promise<Looked>

/** The looks from outside: through the public origin, as pages, phones and backends see it. */
export const LOOKS: readonly (readonly [name: string, look: Look])[] = [
  ['public origin', lookAtOrigin],
  ['certificate', lookAtCertificate],
  ['proxy', lookAtProxy],
  ['channel', lookAtChannel],
  ['script', lookAtScript],
]

const DAY_MS = 24 * 60 * 60 * 1000
/** Certificates of Let's Encrypt are renewed a month before their end. */
const MIN_CERTIFICATE_DAYS = 14
/** A service that lives answers at once. */
const REACHED_WITHIN_MS = 10_000
const GATEWAY_ERRORS: readonly number[] = [502, 503, 504]
const FLOOD = 20
/** What a network of its own has left beyond the flooded one. */
const CLEARLY_MORE = 10

/**
 * Reaches the service through its public origin, once for all looks.
 *
 * @returns looks at it. A look throws an OperatorError with the problem and its remedy
 */
export async function outsideOf(known: Known): Promise<(look: Look) => Promise<Looked>> {
  const { publicOrigin } = known.config
  const get = (path: string, request: Ask = {}) =>
    ask(`${publicOrigin}${path}`, { ...request, ca: known.ca })
  let alive: Answer
  try {
    alive = await get(ENDPOINTS.alive.path, { timeoutMs: REACHED_WITHIN_MS })
    // A proxy in front of a service that is stopped, as for a restore.
    if (!known.runsHere && GATEWAY_ERRORS.includes(alive.status))
      throw new Error(`its proxy returned ${alive.status}`)
  } catch (failure) {
    return async (look) => unreachable(known, look, failure)
  }
  const isService = jsonOf(alive).status === 'alive' && alive.headers['x-request-id'] !== undefined
  return async (look) => {
    if (!isService)
      throw new OperatorError(
        `${publicOrigin} is not this service: ${ENDPOINTS.alive.path} returned ${alive.status} without its answer. Correct BONDED_PUBLIC_ORIGIN, or the proxy.`,
      )
    try {
      return await look(known, get)
    } catch (failure) {
      if (failure instanceof OperatorError) throw failure
      throw new OperatorError(`${publicOrigin} stopped to answer: ${reasonOf(failure)}.`)
    }
  }
}

function unreachable({ config, runsHere }: Known, look: Look, failure: unknown): Looked {
  if (look !== lookAtOrigin)
    return { says: 'Not checked, because the public origin is not reachable.', skipped: true }
  const { publicOrigin, environment } = config
  const text = `${publicOrigin} cannot be reached from this machine: ${reasonOf(failure)}. Correct BONDED_PUBLIC_ORIGIN, the name, the certificate, or the proxy.`
  if (runsHere) throw new OperatorError(text)
  const found = { says: 'Nothing answers at the public origin.', skipped: true } as const
  return environment === 'production' ? { ...found, warnings: [text] } : found
}

/** The node that answers must be one of this database, with these settings. */
async function lookAtOrigin(
  { config, receiptKeys, tenantId }: Known,
  get: Parameters<Look>[1],
): Promise<Looked> {
  const { publicOrigin, rpId, relatedOrigins } = config
  const { servers, info } = jsonOf(await get(ENDPOINTS.readOpenApi.path)) as {
    servers?: readonly { readonly url?: string }[]
    info?: { readonly version?: string }
  }
  const other = (what: string) =>
    new OperatorError(
      `The service at ${publicOrigin} ${what}. Start all nodes with the same settings, or run bonded doctor with those of the running node.`,
    )
  const origin = servers?.[0]?.url
  if (origin !== publicOrigin) throw other(`has the public origin ${origin ?? '(none)'}`)
  const challenge = await get(ENDPOINTS.challengeDevice.path, { method: 'POST' })
  const { rp_id: found = rpId } = jsonOf(challenge)
  if (found !== rpId) throw other(`has the RP ID ${String(found)}, not ${rpId}`)
  if (receiptKeys !== undefined) {
    const { keys = [] } = jsonOf(await get(RECEIPT_KEYS_PATH)) as { keys?: readonly object[] }
    const idsOf = (all: readonly object[]) =>
      JSON.stringify(all.map((key) => Reflect.get(key, 'kid')))
    if (idsOf(keys) !== idsOf(receiptKeys)) throw other('signs receipts with other keys')
  }
  if (tenantId !== undefined && (await get(portalPath(tenantId))).status === 404)
    throw other(`runs on another database: it does not know the tenant ${tenantId}`)
  if (relatedOrigins && !Array.isArray(jsonOf(await get(RELATED_ORIGINS_PATH)).origins))
    throw other(`does not serve ${RELATED_ORIGINS_PATH}`)
  const running = info?.version
  return {
    says: `${publicOrigin} is this service, with the RP ID ${rpId}.`,
    ...(running === VERSION
      ? {}
      : { warnings: [`It runs ${running ?? 'another version'}, and this is ${VERSION}.`] }),
  }
}

async function lookAtCertificate(
  { config, now }: Known,
  get: Parameters<Look>[1],
): Promise<Looked> {
  const { certificateEndsAt: ends } = await get(ENDPOINTS.alive.path)
  if (ends === undefined) return { says: `${config.publicOrigin} has no TLS.` }
  const days = Math.floor((ends - now) / DAY_MS)
  const says = `It is valid for ${days} days.`
  return days < MIN_CERTIFICATE_DAYS
    ? { says, warnings: [`The certificate ends in ${days} days. Check its renewal.`] }
    : { says }
}

/** Whether limits count clients, and no client chooses the address that counts. */
async function lookAtProxy({ config }: Known, get: Parameters<Look>[1]): Promise<Looked> {
  const { publicOrigin, trustedProxies } = config
  const left = async (headers?: Ask['headers']) => {
    const answer = await get(ENDPOINTS.version.path, headers === undefined ? {} : { headers })
    return Number(/;\s*r=(\d+)/.exec(String(answer.headers.ratelimit))?.[1])
  }
  await Promise.all(Array.from({ length: FLOOD }, () => left()))
  const forged = await left({ 'x-forwarded-for': `198.51.100.${randomInt(1, 255)}` })
  // Read last: the same quota cannot have less left then, however slow the machine is.
  const own = await left()
  if (forged - own > CLEARLY_MORE)
    throw new OperatorError(
      'A client can choose the address that limits count: the service believed a forged X-Forwarded-For. Let the proxy replace that header, or lower BONDED_TRUST_PROXY to the number of proxies.',
    )
  if (trustedProxies !== 0)
    return { says: 'The service counts the addresses that the proxy names.' }
  if (!publicOrigin.startsWith('https:')) return { says: 'No proxy is trusted.' }
  throw new OperatorError(
    `${publicOrigin} ends TLS in a proxy, and BONDED_TRUST_PROXY is 0: all clients share the limits of its address. Set it to the number of proxies.`,
  )
}

/** An upgrade that reaches the service is rejected by the channel, not as an unknown path. */
async function lookAtChannel(_known: Known, get: Parameters<Look>[1]): Promise<Looked> {
  const session = makeId('sess', new Uint8Array(16))
  const answer = await get(`/sessions/${session}`, {
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
      'sec-websocket-protocol': 'bonded.v1, watch.none',
    },
  })
  const { error } = jsonOf(answer) as { error?: { readonly reason?: string } }
  if (error?.reason === undefined || error.reason === 'unknown_endpoint')
    throw new OperatorError(
      'The proxy does not pass WebSocket upgrades, so pages poll. Let it pass the headers Upgrade and Connection, with HTTP/1.1.',
    )
  return { says: 'WebSocket upgrades reach the service.' }
}

/** The pages of tenants pin the script by its hash, so a proxy must not change a byte of it. */
async function lookAtScript(_known: Known, get: Parameters<Look>[1]): Promise<Looked> {
  const list = jsonOf(await get(INTEGRITY_PATH)) as { files?: Readonly<Record<string, string>> }
  const [[path, integrity] = []] = Object.entries(list.files ?? {})
  if (path === undefined || integrity === undefined)
    throw new OperatorError(`${INTEGRITY_PATH} does not list the script. Let the proxy pass it.`)
  const { body, headers } = await get(path)
  const hash = `sha384-${createHash('sha384').update(body).digest('base64')}`
  if (hash !== integrity)
    throw new OperatorError(
      `${path} is not the script that the service sends, so browsers refuse it. Turn off what changes scripts on the way, such as minification.`,
    )
  if (headers['access-control-allow-origin'] !== '*')
    throw new OperatorError(
      `${path} lacks Access-Control-Allow-Origin, so browsers refuse it. Let the proxy pass the header.`,
    )
  return { says: `${path} arrives unchanged.` }
}

function reasonOf(failure: unknown): string {
  if (!(failure instanceof Error)) return String(failure)
  const { message } = failure
  const code = 'code' in failure ? String(failure.code) : ''
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its name does not resolve'
  if (code === 'ECONNREFUSED') return 'its port is closed'
  if (/CERT|SELF_SIGNED|UNABLE_TO/.test(code)) return `its certificate is not valid (${code})`
  if (code === 'ABORT_ERR') return 'it did not answer in time'
  return message || code
}
