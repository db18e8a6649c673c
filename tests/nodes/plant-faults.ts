import { registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Edit, planted } from './planted-faults.ts'

/**
 * Plants faults in the process that loads this module first (`--import`): it edits the text of the
 * files in `PLANTED_EDITS` as they are loaded. The files themselves stay unchanged.
 */
const ROOT = resolve(import.meta.dirname, '../..')
const EDITS = Map.groupBy(
  JSON.parse(process.env.PLANTED_EDITS ?? '[]') as readonly Edit[],
  ({ file }) => pathToFileURL(resolve(ROOT, file)).href,
)

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    const edits = EDITS.get(url)
    if (edits === undefined) return loaded
    const source = Buffer.from(loaded.source as Uint8Array).toString('utf8')
    return { ...loaded, source: planted(url, source, edits) }
  },
})
