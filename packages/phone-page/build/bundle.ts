import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** The phone page, ready to be served. All values are text in UTF-8. */
export interface PhonePageFiles {
  readonly script: string
  /** `sha384-…` of the script, for `integrity=`. */
  readonly scriptIntegrity: string
  /**
   * Sixteen hexadecimal digits of the script's SHA-256, for an address that never changes its
   * content.
   */
  readonly scriptHash: string
  readonly style: string
  /** `sha256-…` of the style, for `style-src` of a Content Security Policy. */
  readonly styleHash: string
  /** JSON of the words of each language but English, by its tag. */
  readonly languages: ReadonlyMap<string, string>
  /**
   * Sixteen hexadecimal digits over all languages: the script loads them from an address with it.
   */
  readonly languagesHash: string
}

/** The page as it is stored in a published package. */
export interface PhonePageBundle {
  readonly script: string
  readonly style: string
  readonly languages: Readonly<Record<string, string>>
}

/**
 * The prebuilt files of a published package, or the sources bundled now. The same sources give the
 * same bytes.
 *
 * @example const { script, style } = await loadPhonePage()
 */
export async function loadPhonePage(): Promise<PhonePageFiles> {
  const { script, style, languages } = (await prebuilt()) ?? (await bundle())
  return {
    languages: new Map(Object.entries(languages)),
    languagesHash: hashOf(languages),
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

function hashOf(languages: PhonePageBundle['languages']): string {
  return digest('sha256', JSON.stringify(languages)).toString('hex').slice(0, 16)
}

async function prebuilt(): Promise<PhonePageBundle | undefined> {
  try {
    const languages = await readFile(
      new URL('./phone-page-languages.json', import.meta.url),
      'utf8',
    )
    return {
      script: await readFile(new URL('./phone-page.js', import.meta.url), 'utf8'),
      style: await readFile(new URL('./phone-page.css', import.meta.url), 'utf8'),
      languages: JSON.parse(languages) as PhonePageBundle['languages'],
    }
  } catch {
    // The repository has no prebuilt files.
    return undefined
  }
}

/** Reads `languages/`, in a fixed order and without white space. */
async function readLanguages(): Promise<Record<string, string>> {
  const folder = new URL('../languages/', import.meta.url)
  const languages: Record<string, string> = {}
  for (const file of (await readdir(folder)).toSorted())
    languages[file.replace(/\.json$/, '')] = JSON.stringify(
      JSON.parse(await readFile(new URL(file, folder), 'utf8')),
    )
  return languages
}

/** Bundles the sources with esbuild. */
export async function bundle(): Promise<PhonePageBundle> {
  const languages = await readLanguages()
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
    // The service serves the languages at this address.
    define: { BONDED_WORDS_PATH: JSON.stringify(`/bond/words-${hashOf(languages)}`) },
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    tsconfigRaw: {},
  })
  const textOf = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? ''
  return { script: textOf('.js'), style: textOf('.css').trim(), languages }
}
