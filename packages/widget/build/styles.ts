import { createHash } from 'node:crypto'
import { runInNewContext } from 'node:vm'
import type { PulseFile } from './bundle.ts'

/**
 * The styles of the widget as one minified file. Its path changes with its content.
 *
 * @param root the folder of the package
 */
export async function readStyles(
  root: string,
  integrityOf: (text: string) => string,
): Promise<PulseFile> {
  const { build, transform } = await import('esbuild')
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['src/view/styles/styles.ts'],
    bundle: true,
    write: false,
    format: 'iife',
    globalName: 'exported',
    tsconfigRaw: {},
  })
  const styles: string = runInNewContext(`${outputFiles[0]!.text}; exported.STYLES`)
  const { code } = await transform(styles, { loader: 'css', minify: true, charset: 'utf8' })
  const hash = createHash('sha256').update(code).digest('hex').slice(0, 16)
  return { path: `/v1/style/${hash}.css`, source: code, integrity: integrityOf(code) }
}
