import { parseId } from '@bonded/contract'
import type { FastifyInstance, FastifyReply } from 'fastify'
import encodeQr from 'qr'
import { acceptedIndex } from '../domain/challenge.ts'
import { noncesOf, type Service } from '../operations/service.ts'
import { APPLE_ASSOCIATION_PATH, ASSET_LINKS_PATH } from './app-links.ts'
import { limitPage } from './page-limits.ts'
import { PHONE_PAGE_PATH } from './phone-page.ts'
import { qrText } from './present.ts'
import { Refused } from './refused.ts'

/** The hosted script, as the widget package builds it. */
export interface HostedScript {
  readonly source: string
  /** `sha384-…`, for a page that pins its version. */
  readonly integrity: string
}

/** The version of the script, and how to get it: bundling it takes longer than starting, so the first page that asks has it made. */
export interface ScriptSource {
  readonly version: string
  readonly load: () => Promise<HostedScript>
}

const QR_PATH = '/v1/sessions/{session_id}/qr.svg'
const SCRIPT_PATH = '/v1/pulse.js'

/** The paths below that are not part of the JSON interface. */
export const PAGE_PATHS = [
  QR_PATH,
  SCRIPT_PATH,
  PHONE_PAGE_PATH,
  APPLE_ASSOCIATION_PATH,
  ASSET_LINKS_PATH,
]

/** A new script reaches every page within five minutes. */
const SCRIPT_MAX_AGE_SECONDS = 300
const ONE_YEAR_SECONDS = 31_536_000

/** Serves what browsers ask for beside JSON: the script and the QR code as an image. */
export function servePages(app: FastifyInstance, service: Service, script: ScriptSource): void {
  const limited = (routeName: 'script' | 'qr') => limitPage(service, routeName)
  const bytes = scriptBytes(script)
  app.get(SCRIPT_PATH, limited('script'), (_request, reply) =>
    sendScript(reply, bytes, `public, max-age=${SCRIPT_MAX_AGE_SECONDS}`),
  )
  app.get(`/v1/pulse-${script.version}.js`, limited('script'), (_request, reply) =>
    sendScript(reply, bytes, `public, max-age=${ONE_YEAR_SECONDS}, immutable`),
  )

  app.get<{ Params: { session_id: string }; Querystring: Record<string, unknown> }>(
    QR_PATH.replace('{session_id}', ':session_id'),
    limited('qr'),
    async (request, reply) => {
      const image = await qrSvg(service, request.params.session_id, request.query.nonce)
      if (image === undefined) throw new Refused({ reason: 'session_not_found' })
      return reply.type('image/svg+xml; charset=utf-8').send(image)
    },
  )
}

/** The script as bytes that all answers share. */
function scriptBytes(script: ScriptSource): () => Promise<Buffer> {
  let latest: { readonly of: HostedScript; readonly bytes: Buffer } | undefined
  return async () => {
    const loaded = await script.load()
    if (latest?.of !== loaded) latest = { of: loaded, bytes: Buffer.from(loaded.source) }
    return latest.bytes
  }
}

async function sendScript(
  reply: FastifyReply,
  bytes: () => Promise<Buffer>,
  cacheControl: string,
): Promise<FastifyReply> {
  const source = await bytes()
  // Any page may load it, with or without an integrity attribute.
  return reply
    .type('text/javascript; charset=utf-8')
    .header('cache-control', cacheControl)
    .header('access-control-allow-origin', '*')
    .send(source)
}

/** The code as an image, for a nonce that is accepted now on a session that still waits for its phone. */
async function qrSvg(
  service: Service,
  sessionId: string,
  nonce: unknown,
): Promise<string | undefined> {
  const id = parseId('sess', sessionId)
  if (id === undefined || typeof nonce !== 'string') return undefined
  const session = await service.store.read((tables) => tables.sessions.find(id))
  if (session === undefined || !service.keys.holds(session.rootKeyId)) return undefined
  const nonces = noncesOf(service, session)
  if (acceptedIndex(session, nonce, { now: service.clock.now(), nonces }) === undefined)
    return undefined
  return drawQr(qrText(service, session, nonce))
}

/** Protocol 12: black on white, four modules of quiet zone, level M, with a title. */
export function drawQr(payload: string): string {
  const modules = encodeQr(payload, 'raw', { ecc: 'medium', border: 4 })
  const size = modules.length
  const path = modules
    .flatMap((row, y) => runs(row).map(([x, length]) => `M${x} ${y}h${length}v1h-${length}z`))
    .join('')
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges" role="img">` +
    `<title>Code to scan with your phone</title><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${path}"/></svg>`
  )
}

/** The dark stretches of a row: where each begins and how long it is. */
function runs(row: readonly boolean[]): [number, number][] {
  const found: [number, number][] = []
  for (let x = 0; x < row.length; x++) {
    const begin = x
    while (row[x] === true) x++
    if (x > begin) found.push([begin, x - begin])
  }
  return found
}
