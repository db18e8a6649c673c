import { Buffer } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import { TILE_WIDTH } from '@bonded/core/domain/merkle'
import { base64, LOG_PATH } from '@bonded/core/domain/receipt-log'
import { publishedCheckpoint } from '@bonded/core/operations/receipt/cosign-checkpoint'
import { publishedClosings } from '@bonded/core/operations/receipt/log-epochs'
import { consistencyOf } from '@bonded/core/operations/receipt/receipt-log'
import type { Service } from '@bonded/core/operations/service'
import { Rejected } from '../response/rejected.ts'
import { limitPage } from './page-limits.ts'
import { IMMUTABLE } from './static-file.ts'

const HASH_BYTES = 32
/** `<L>/<N>` or `entries/<N>`, with three digits in each segment, and `.p/<W>` if partial. */
const TILE =
  /^(?<level>0|[1-9]|[1-5]\d|6[0-3]|entries)\/(?<index>(?:x\d{3}\/){0,4}\d{3})(?:\.p\/(?<width>[1-9]\d{0,2}))?$/
const SIZE = /^(0|[1-9]\d{0,14})$/

/**
 * Serves the log of receipts as c2sp.org/tlog-tiles defines it: the checkpoint, and the tiles and
 * entries, which never change. The proof of consistency saves a tenant the computation from tiles.
 */
export function serveReceiptLog(app: FastifyInstance, service: Service): void {
  const options = limitPage(service, 'receipt_log')
  const notFound = () => new Rejected({ reason: 'page_not_found' })

  app.get(`${LOG_PATH}/checkpoint`, options, async (_request, reply) => {
    const head = await service.store.read((tables) => tables.receiptLog.head())
    const checkpoint = publishedCheckpoint(head, service.clock.now())
    if (checkpoint === '') throw notFound()
    return reply
      .type('text/plain; charset=utf-8')
      .header('cache-control', 'no-store')
      .send(checkpoint)
  })

  app.get(`${LOG_PATH}/closed`, options, async (_request, reply) =>
    reply
      .type('application/json; charset=utf-8')
      .header('cache-control', 'no-store')
      .send(JSON.stringify({ closed: await publishedClosings(service) })),
  )

  app.get<{ Params: { from: string; to: string } }>(
    `${LOG_PATH}/consistency/:from/:to`,
    limitPage(service, 'receipt_log', 'consistency'),
    async ({ params: { from, to } }, reply) => {
      if (!SIZE.test(from) || !SIZE.test(to)) throw notFound()
      const proof = await consistencyOf(service, { from: Number(from), to: Number(to) })
      if (proof === undefined) throw notFound()
      return reply
        .type('text/plain; charset=utf-8')
        .header('cache-control', IMMUTABLE)
        .send(proof.map((hash) => `${base64(hash)}\n`).join(''))
    },
  )

  app.get<{ Params: { '*': string } }>(`${LOG_PATH}/tile/*`, options, async ({ params }, reply) => {
    const bytes = await tileBytes(service, params['*'])
    if (bytes === undefined) throw notFound()
    return reply.type('application/octet-stream').header('cache-control', IMMUTABLE).send(bytes)
  })
}

async function tileBytes(service: Service, path: string): Promise<Buffer | undefined> {
  const { level, index, width } = TILE.exec(path)?.groups ?? {}
  if (level === undefined || index === undefined) return undefined
  const wanted = width === undefined ? TILE_WIDTH : Number(width)
  if (width !== undefined && wanted >= TILE_WIDTH) return undefined
  // A number has one spelling, so that a cache has one address for a tile.
  if (index.startsWith('x000')) return undefined
  const number = Number(index.replaceAll(/[x/]/g, ''))
  const isEntries = level === 'entries'
  const tile = await service.store.read(function* ({ receiptLog }) {
    const { checkpointSize } = yield* receiptLog.head()
    const tileLevel = isEntries ? 0 : Number(level)
    // What no checkpoint covers is not published.
    const covered = Math.floor(checkpointSize / TILE_WIDTH ** tileLevel) - number * TILE_WIDTH
    return covered < wanted ? undefined : yield* receiptLog.tile(tileLevel, number)
  })
  const hashes = (isEntries ? tile?.entries : tile?.hashes)?.subarray(0, wanted * HASH_BYTES)
  if (hashes?.length !== wanted * HASH_BYTES) return undefined
  return isEntries ? bundle(hashes) : Buffer.from(hashes)
}

/** Entries as a bundle: each behind its length in two bytes. */
function bundle(entries: Uint8Array): Buffer {
  const parts: Uint8Array[] = []
  for (let index = 0; index < entries.length; index += HASH_BYTES)
    parts.push(Uint8Array.of(0, HASH_BYTES), entries.subarray(index, index + HASH_BYTES))
  return Buffer.concat(parts)
}
