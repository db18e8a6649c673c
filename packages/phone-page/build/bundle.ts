import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** The phone page, ready to be served. All values are text in UTF-8. */
export interface PhonePageFiles {
  readonly script: string
  /** `sha384-…` of the script, for `integrity=`. */
  readonly scriptIntegrity: string
  /** Sixteen hexadecimal digits of the script's SHA-256, for an address that never changes its content. */
  readonly scriptHash: string
  readonly style: string
  /** `sha256-…` of the style, for `style-src` of a Content Security Policy. */
  readonly styleHash: string
}

/**
 * The prebuilt files of a published package, or the sources bundled now. The same sources give the same bytes.
 *
 * @example const { script, style } = await loadPhonePage()
 */
export async function loadPhonePage(): Promise<PhonePageFiles> {
  const { script, style } = (await prebuilt()) ?? (await bundle())
  return {
    script,
    scriptIntegrity: `sha384-${digest('sha384', script).toString('base64')}`,
    scriptHash: digest('sha256', script).toString('hex').slice(0, 16),
    style,
    styleHash: `sha256-${digest('sha256', style).toString('base64')}`,
  }
}

function digest(algorithm: 'sha256' | 'sha384', text: string): Buffer {
  return createHash(algorithm).update(text).digest()
}

async function prebuilt(): Promise<{ script: string; style: string } | undefined> {
  try {
    return {
      script: await readFile(new URL('./phone-page.js', import.meta.url), 'utf8'),
      style: await readFile(new URL('./phone-page.css', import.meta.url), 'utf8'),
    }
  } catch {
    // The repository has no prebuilt files.
    return undefined
  }
}

/** Bundles the sources with esbuild. */
export async function bundle(): Promise<{ script: string; style: string }> {
  // Loaded here, so that a published package needs no bundler.
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
    entryPoints: { 'phone-page': 'src/main.ts', style: 'src/style.css' },
    outdir: 'dist',
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    conditions: ['@bonded/source'],
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    tsconfigRaw: {},
  })
  const textOf = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? ''
  return { script: textOf('.js'), style: textOf('.css').trim() }
}
