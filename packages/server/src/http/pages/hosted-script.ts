import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { limitPage } from './page-limits.ts'
import { Rejected } from '../response/rejected.ts'
import { buildOnce, IMMUTABLE, type StaticFile, sendStaticFile, staticFile } from './static-file.ts'

/** A file whose content never changes at its path. */
export interface HostedFile {
  readonly path: string
  /** JavaScript, CSS or JSON, as the path ends. */
  readonly source: string
  /** `sha384-…` */
  readonly integrity: string
}

/** The hosted script with the files that it loads, as the widget package builds them. */
export interface HostedScript {
  readonly source: string
  /** `sha384-…`, the integrity value for pages that pin the version. */
  readonly integrity: string
  /** The source map, as JSON. */
  readonly sourceMap: string
  readonly files: readonly HostedFile[]
}

/**
 * The version of the script and its loader. Bundling takes longer than starting the service, so the
 * service bundles the script at the first request.
 */
export interface ScriptSource {
  readonly version: string
  readonly load: () => Promise<HostedScript>
}

const SCRIPT_PATH = '/v1/pulse.js'
export const INTEGRITY_PATH = '/v1/integrity.json'

/** Five minutes, the longest time until a new script reaches every page. */
const SHORT = 'public, max-age=300'

const JAVASCRIPT = 'text/javascript; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'
const CSS_TYPE = 'text/css; charset=utf-8'

/**
 * Serves the hosted script at its current and its pinned address, its source map, the checks of the
 * container, the proof of the browser, styles and languages, and the integrity values of all files
 * that never change.
 */
export function serveHostedScript(
  app: FastifyInstance,
  service: Service,
  { version, load }: ScriptSource,
): void {
  const pinnedPath = `/v1/pulse-${version}.js`
  const mapPath = `${pinnedPath}.map`
  let packed: { readonly of: HostedScript; readonly files: PackedFiles } | undefined
  const fileAt = async (path: string) => {
    const script = await load()
    if (packed?.of !== script)
      packed = { of: script, files: pack(script, { version, pinnedPath, mapPath }) }
    return packed.files.get(path)?.()
  }
  const serve = (cacheControl: string) => async (request: FastifyRequest, reply: FastifyReply) => {
    const path = request.url.split('?', 1)[0]!
    const file = await fileAt(path)
    if (file === undefined) throw new Rejected({ reason: 'page_not_found' })
    if (path === SCRIPT_PATH || path === pinnedPath) reply.header('sourcemap', mapPath)
    // Any page may load the file. With CORS, it can also check the integrity.
    reply.header('access-control-allow-origin', '*')
    return sendStaticFile(request, reply, { file, cacheControl })
  }
  for (const path of [SCRIPT_PATH, INTEGRITY_PATH])
    app.get(path, limitPage(service, 'script'), serve(SHORT))
  const parts = ['/v1/checks/:file', '/v1/leg/:file', '/v1/lang/:hash/:file', '/v1/style/:file']
  for (const path of [pinnedPath, mapPath, ...parts])
    app.get(path, limitPage(service, 'script'), serve(IMMUTABLE))
}

/** Each is compressed when it is first requested: a page loads four of them. */
type PackedFiles = ReadonlyMap<string, () => Promise<StaticFile>>

function pack(
  { source, integrity, sourceMap, files }: HostedScript,
  { version, pinnedPath, mapPath }: { version: string; pinnedPath: string; mapPath: string },
): PackedFiles {
  const script = buildOnce(() => staticFile(source, JAVASCRIPT))
  const integrities = [
    [pinnedPath, integrity],
    ...files.map((file) => [file.path, file.integrity] as const),
  ]
  const list = { version, files: Object.fromEntries(integrities) }
  const others: readonly (readonly [path: string, text: string])[] = [
    [mapPath, sourceMap],
    [INTEGRITY_PATH, JSON.stringify(list)],
    ...files.map(({ path, source: text }) => [path, text] as const),
  ]
  return new Map([
    [SCRIPT_PATH, script],
    [pinnedPath, script],
    ...others.map(
      ([path, text]) => [path, buildOnce(() => staticFile(text, typeOf(path)))] as const,
    ),
  ])
}

function typeOf(path: string): string {
  if (path.endsWith('.js')) return JAVASCRIPT
  return path.endsWith('.css') ? CSS_TYPE : JSON_TYPE
}
