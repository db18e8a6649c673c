import { encodeQr, parseId } from '@bonded/contract'
import type { FastifyInstance } from 'fastify'
import { readQrCode } from '@bonded/core/operations/session/read-qr-code'
import type { Service } from '@bonded/core/operations/service'
import { limitPage } from './page-limits.ts'
import { qrText } from '../response/present.ts'
import { Rejected } from '../response/rejected.ts'

/** The quiet zone in modules, as ISO 18004 requires it. */
const QUIET_ZONE = 4
const QR_PATH = '/v1/sessions/:session_id/qr.svg'

/** Serves the QR code image. */
export function serveQrImage(app: FastifyInstance, service: Service): void {
  app.get<{ Params: { session_id: string }; Querystring: Record<string, unknown> }>(
    QR_PATH,
    limitPage(service, 'qr'),
    async (request, reply) => {
      const image = await qrSvg(service, request.params.session_id, request.query.nonce)
      if (image === undefined) throw new Rejected({ reason: 'session_not_found' })
      return reply.type('image/svg+xml; charset=utf-8').send(image)
    },
  )
}

/** Draws the QR code if the session still accepts the nonce. Returns undefined otherwise. */
async function qrSvg(
  service: Service,
  sessionId: string,
  nonce: unknown,
): Promise<string | undefined> {
  const id = parseId('sess', sessionId)
  if (id === undefined || typeof nonce !== 'string') return undefined
  const session = await readQrCode(service, id, nonce)
  return session && drawQr(qrText(service.settings, { session, nonce }))
}

/** Draws a QR code as protocol 12 requires: black on white, quiet zone of four modules, level M. */
export function drawQr(payload: string): string {
  const modules = encodeQr(new TextEncoder().encode(payload))
  const size = modules.length + 2 * QUIET_ZONE
  const path = modules
    .flatMap((row, y) =>
      runs(row).map(
        ([x, length]) => `M${x + QUIET_ZONE} ${y + QUIET_ZONE}h${length}v1h-${length}z`,
      ),
    )
    .join('')
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges" role="img">` +
    `<title>Code to scan with your phone</title><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${path}"/></svg>`
  )
}

/** Returns the start and length of each run of dark modules in a row. */
function runs(row: readonly boolean[]): [number, number][] {
  const found: [number, number][] = []
  for (let x = 0; x < row.length; x++) {
    const start = x
    while (row[x] === true) x++
    if (x > start) found.push([start, x - start])
  }
  return found
}
