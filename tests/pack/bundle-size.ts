import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** Peers of a module, which the program that uses it has. */
const PEERS = ['@modelcontextprotocol/sdk', '@modelcontextprotocol/server', 'zod']

/** Bytes of a bundle with everything that an installed package exports, minified and compressed. */
export async function bundleBytes(name: string, folder: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: `export * from '${name}'`, resolveDir: folder },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    external: ['node:*', ...PEERS],
    write: false,
  })
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
}
