import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Rejected } from '../response/rejected.ts'

/** A file whose path changes with its content is kept for one year. */
export const IMMUTABLE = 'public, max-age=31536000, immutable'

type Encoding = 'br' | 'gzip' | 'identity'

/** A file that is the same for every client, compressed once. */
export interface StaticFile {
  readonly type: string
  /** Weak, because all encodings of the file share it. */
  readonly etag: string
  readonly bodies: Readonly<Record<Encoding, Buffer>>
}

/** Compresses a text as far as the formats allow. It is served many times. */
export async function staticFile(text: string, type: string): Promise<StaticFile> {
  const identity = Buffer.from(text)
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(identity, {
      params: { [constants.BROTLI_PARAM_SIZE_HINT]: identity.length },
    }),
    promisify(gzip)(identity, { level: constants.Z_BEST_COMPRESSION }),
  ])
  const hash = createHash('sha256').update(identity).digest('base64url').slice(0, 22)
  return { type, etag: `W/"${hash}"`, bodies: { br, gzip: zipped, identity } }
}

/** Builds a value at the first call, and again after a failure. */
export function buildOnce<T>(build: () => Promise<T>): () => Promise<T> {
  let built: Promise<T> | undefined
  return () =>
    (built ??= build().catch((failure: unknown) => {
      built = undefined
      throw failure
    }))
}

/** Sends the only file at a path that ends with its hash. */
export function sendHashedFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { file, hash }: { readonly file: StaticFile; readonly hash: string },
): FastifyReply {
  // A new file at an old URL would fail the integrity check of cached documents for a year.
  if ((request.params as { readonly hash: string }).hash !== hash)
    throw new Rejected({ reason: 'page_not_found' })
  return sendStaticFile(request, reply, { file, cacheControl: IMMUTABLE })
}

/** Sends the file in the best encoding that the client accepts, or 304 if the client has it. */
export function sendStaticFile(
  request: FastifyRequest,
  reply: FastifyReply,
  {
    file,
    cacheControl,
    vary = 'Accept-Encoding',
  }: {
    readonly file: StaticFile
    readonly cacheControl: string
    /** The request headers that decide which file is sent. */
    readonly vary?: string
  },
): FastifyReply {
  reply.header('cache-control', cacheControl).header('etag', file.etag).header('vary', vary)
  if (hasEtag(request.headers['if-none-match'], file.etag)) return reply.code(304).send()
  const encoding = encodingFor(request.headers['accept-encoding'])
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(file.type).send(file.bodies[encoding])
}

/** Compares as RFC 9110 requires for a GET: the weakness of a tag does not matter. */
function hasEtag(header: string | undefined, etag: string): boolean {
  const known = (header ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return known.includes('*') || known.includes(etag.slice(2))
}

/** A coding with the weight 0 is not acceptable. The other weights do not change the choice. */
function encodingFor(header = ''): Encoding {
  const accepted = header
    .toLowerCase()
    .split(',')
    .filter((coding) => !/;\s*q=0(?:\.0*)?\s*$/.test(coding))
    .map((coding) => coding.split(';', 1)[0]!.trim())
  return (['br', 'gzip'] as const).find((coding) => accepted.includes(coding)) ?? 'identity'
}
