import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/**
 * The hosted script, ready for the service to serve as `/v1/pulse.js` and `/v1/pulse-<version>.js`.
 */
export interface PulseScript {
  /** UTF-8 JavaScript. */
  readonly source: string
  /** For `integrity=` of the pinned address: `sha384-…`. */
  readonly integrity: string
  readonly version: string
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
  const source = (await prebuilt()) ?? (await bundle(version))
  const integrity = `sha384-${createHash('sha384').update(source).digest('base64')}`
  return { source, integrity, version }
}

async function prebuilt(): Promise<string | undefined> {
  try {
    return await readFile(new URL('./pulse.js', import.meta.url), 'utf8')
  } catch {
    // The repository has no prebuilt script.
    return undefined
  }
}

async function bundle(version: string): Promise<string> {
  // Imported here, so that a published package serves its prebuilt script without these tools.
  const [{ build }, { minify }] = await Promise.all([import('esbuild'), import('terser')])
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL('..', import.meta.url)),
    entryPoints: ['src/entry.ts'],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    conditions: ['@bonded/source'],
    minify: true,
    charset: 'utf8',
    legalComments: 'none',
    define: { PULSE_VERSION: JSON.stringify(version) },
    tsconfigRaw: {},
  })
  // Terser inlines small functions across modules, which esbuild does not: 3 % less after gzip.
  const { code } = await minify(outputFiles[0]!.text, { ecma: 2020 })
  const notice = `/*! Pulse ${version}, Apache-2.0. QR code after Project Nayuki, MIT. */`
  return `${notice}\n${code}\n`
}
