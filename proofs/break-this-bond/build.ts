import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { build, type BuildResult, type Plugin } from 'esbuild'
import { allGuards, GUARD_FILES, withoutGuard } from './drop-guard.ts'
import type { Guard, Level } from './engine/level.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const HERE = import.meta.dirname
/** Where a reader finds the lines of the guards. */
const SOURCES = 'https://github.com/bonded-sessions/bonded-sessions/blob/main'

/**
 * Bundles the game with the core, the routes and the verifiers of the service, without some guards.
 *
 * @param forNode verifies with `node:crypto`, as the service does and in two thirds of the time;
 *   without it, the bundle also runs in a browser
 */
export async function bundleGame(
  without: readonly Guard[] = [],
  forNode = false,
): Promise<BuildResult<{ write: false; metafile: true }>> {
  return build({
    entryPoints: [`${HERE}/engine/game.ts`],
    absWorkingDir: ROOT,
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    platform: 'browser',
    format: 'esm',
    target: 'es2022',
    conditions: ['@bonded/source'],
    inject: [`${HERE}/platform/buffer.ts`, `${HERE}/platform/web-crypto.ts`],
    plugins: [platform(forNode), dropping(without)],
  })
}

/** Writes the page with the game, and the game without the guard of each level, into a folder. */
export async function writePage(folder: string, levels: readonly Level[]): Promise<void> {
  const lines = Object.fromEntries(
    allGuards(ROOT).map(({ file, name, lines: [first, ...more] }) => {
      const url = `${SOURCES}/${GUARD_FILES[file]}#L${first}`
      const where = `${file}, ${more.length > 0 ? 'lines' : 'line'} ${[first, ...more].join(', ')}`
      return [`${file} ${name}`, { where, url }]
    }),
  )
  await build({
    entryPoints: [`${HERE}/page/page.js`, `${HERE}/page/page.css`],
    outdir: folder,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    define: { 'globalThis.GUARD_LINES': JSON.stringify(JSON.stringify(lines)) },
  })
  cpSync(`${HERE}/page/index.html`, join(folder, 'index.html'))
  for (const level of [undefined, ...levels]) {
    const [bundle] = (await bundleGame(level && [level.guard])).outputFiles
    const name = level === undefined ? 'game.js' : `game-${level.id}.js`
    writeFileSync(join(folder, name), bundle?.contents ?? '')
  }
}

/** Resolves what the page has in place of Node and of the server. */
const platform = (forNode: boolean): Plugin => ({
  name: 'platform',
  setup(bundle) {
    // Through CommonJS, because tree shaking leaves imports of names that no used code needs.
    bundle.onResolve({ filter: /^node:crypto$/ }, ({ path }) =>
      forNode ? { path, external: true } : { path: 'node-crypto', namespace: 'platform' },
    )
    bundle.onLoad({ filter: /./, namespace: 'platform' }, () => ({
      contents: "module.exports = require('./platform/node-crypto.ts')",
      resolveDir: HERE,
    }))
    bundle.onResolve({ filter: /\/serve\.ts$/ }, ({ importer }) =>
      importer.includes('/packages/server/') ? { path: `${HERE}/platform/serve.ts` } : undefined,
    )
  },
})

/** Drops guards from the sources that have them. */
function dropping(without: readonly Guard[]): Plugin {
  return {
    name: 'dropping',
    setup(bundle) {
      for (const [file, path] of Object.entries(GUARD_FILES)) {
        const names = without.filter((guard) => guard.file === file).map(({ name }) => name)
        if (names.length === 0) continue
        bundle.onLoad({ filter: new RegExp(`/${path}$`) }, ({ path: found }) => ({
          contents: names.reduce(withoutGuard, readFileSync(found, 'utf8')),
          loader: 'ts',
        }))
      }
    },
  }
}
