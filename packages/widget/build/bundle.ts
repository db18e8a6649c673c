import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readLanguages } from './languages.ts'
import { readStyles } from './styles.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** A file that the script loads. Its content never changes at this path. */
export interface PulseFile {
  /** Relative to the service's origin, such as `/v1/checks/….js` or `/v1/lang/…/de.json`. */
  readonly path: string
  /** UTF-8 JavaScript, CSS or JSON, as the path ends. */
  readonly source: string
  /** `sha256-…` */
  readonly integrity: string
}

/**
 * The hosted script, ready for the service to serve as `/v1/pulse.js` and `/v1/pulse-<version>.js`.
 */
export interface PulseScript {
  /** UTF-8 JavaScript. */
  readonly source: string
  /** For `integrity=` of the pinned address: `sha384-…`. */
  readonly integrity: string
  readonly version: string
  /** The source map, as JSON. */
  readonly sourceMap: string
  /**
   * The checks of the container, the browser's proof, the styles, and the languages of the widget
   * and of the proof with their index. The script contains English, and the integrity of the
   * checks, the proof, the styles and the index. A language contains that of its proof.
   */
  readonly files: readonly PulseFile[]
}

/** The parts of a script that a published package contains as files. */
export interface BuiltScript {
  readonly source: string
  readonly sourceMap: string
  readonly files: readonly PulseFile[]
}

/**
 * Loads the script: the prebuilt one beside this file in a published package, otherwise a bundle of
 * the sources. The same sources give the same bytes.
 *
 * @example const { source, integrity } = await loadPulseScript()
 */
export async function loadPulseScript(): Promise<PulseScript> {
  const { version }: { version: string } = JSON.parse(
    await readFile(new URL('../package.json', import.meta.url), 'utf8'),
  )
  const built = (await prebuilt()) ?? (await bundle(version))
  return { ...built, integrity: integrityOf(built.source, 'sha384'), version }
}

async function prebuilt(): Promise<BuiltScript | undefined> {
  try {
    return {
      source: await readFile(new URL('./pulse.js', import.meta.url), 'utf8'),
      sourceMap: await readFile(new URL('./pulse.js.map', import.meta.url), 'utf8'),
      files: JSON.parse(await readFile(new URL('./pulse-files.json', import.meta.url), 'utf8')),
    }
  } catch {
    // The repository has no prebuilt script.
    return undefined
  }
}

async function bundle(version: string): Promise<BuiltScript> {
  const languages = await readLanguages(
    join(ROOT, 'src/messages'),
    integrityOf,
    join(ROOT, 'src/browser-proof/messages'),
  )
  const styles = await readStyles(ROOT, integrityOf)
  const checks = await bundleModule('checks', 'src/loading/loaded.ts')
  const proof = await bundleModule('leg', 'src/browser-proof/open-proof.ts')
  const { source, map } = await compile({
    entryPoint: 'src/entry.ts',
    format: 'iife',
    define: {
      PULSE_VERSION: version,
      PULSE_STYLES_PATH: styles.path,
      PULSE_STYLES_INTEGRITY: styles.integrity,
      PULSE_LANGUAGES_PATH: languages.folder,
      PULSE_LANGUAGES_INTEGRITY: languages.integrity,
      PULSE_CHECKS_PATH: checks.path,
      PULSE_CHECKS_INTEGRITY: checks.integrity,
      PULSE_PROOF_PATH: proof.path,
      PULSE_PROOF_INTEGRITY: proof.integrity,
    },
    notice: `/*! Pulse ${version}, Apache-2.0. QR code after Project Nayuki, MIT. */`,
  })
  return {
    source,
    sourceMap: map,
    files: [checks, proof, styles, ...languages.files],
  }
}

/** A module that the script loads. Its path names its content. */
async function bundleModule(name: string, entryPoint: string): Promise<PulseFile> {
  const notice = '/*! Pulse, Apache-2.0. */'
  const { source } = await compile({ entryPoint, format: 'esm', define: {}, notice })
  const hash = createHash('sha256').update(source).digest('hex').slice(0, 16)
  return { path: `/v1/${name}/${hash}.js`, source, integrity: integrityOf(source) }
}

interface Compilation {
  /** Relative to the package. */
  readonly entryPoint: string
  readonly format: 'iife' | 'esm'
  /** Texts that replace names. */
  readonly define: Readonly<Record<string, string>>
  /** The comment at the start. */
  readonly notice: string
}

async function compile(from: Compilation): Promise<{ source: string; map: string }> {
  // Imported here, so that a published package serves its prebuilt script without these tools.
  const [{ build }, { minify }, { keepByInput }] = await Promise.all([
    import('esbuild'),
    import('terser'),
    import('./keep-by-input.ts'),
  ])
  const { entryPoint, format, define, notice } = from
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [entryPoint],
    outfile: 'pulse.js',
    bundle: true,
    write: false,
    format,
    // A browser that is too old must be able to read the script that says so.
    target: 'es2020',
    conditions: ['@bonded/source'],
    minify: true,
    sourcemap: 'external',
    charset: 'utf8',
    legalComments: 'none',
    define: quoted(define),
    tsconfigRaw: {},
  })
  const [map = '', source = ''] = ['.map', '.js'].map(
    (end) => outputFiles.find(({ path }) => path.endsWith(end))?.text,
  )
  // Terser inlines small functions across modules, which esbuild does not: 3 % less after gzip.
  const options = {
    ecma: 2020,
    compress: { passes: 2 },
    module: format === 'esm',
    format: { preamble: notice },
    sourceMap: { content: map, asObject: false },
  } as const
  return keepByInput([source, options], async () => {
    const minified = await minify({ 'pulse.js': source }, options)
    return { source: minified.code!, map: String(minified.map) }
  })
}

/** The values as source text, which the bundler inserts. */
function quoted(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, JSON.stringify(value)]),
  )
}

/** SHA-256 for what the script names, which makes the script and the indexes a little smaller. */
function integrityOf(text: string, algorithm: 'sha256' | 'sha384' = 'sha256'): string {
  return `${algorithm}-${createHash(algorithm).update(text, 'utf8').digest('base64')}`
}
