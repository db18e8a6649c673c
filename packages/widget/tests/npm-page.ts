import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Bundles a module that uses the npm package, as a site's own build does. */
export async function bundlePage(source: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    conditions: ['@bonded/source'],
    define: { 'process.env.NODE_ENV': '"development"' },
    tsconfigRaw: {},
  })
  return outputFiles[0]!.text
}
