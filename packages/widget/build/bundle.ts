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

/**
 * Members that only the classes of uqr and the modules of the widget use on each other. Their long
 * names would cost 250 B gzip. esbuild shortens them everywhere in the script, so none may be a
 * member of a browser API, of the wire or of a stored value.
 */
const INTERNAL_MEMBERS =
  /^(?:draw[A-Z]\w+|setFunctionModule|addEccAndInterleave|applyMask|getPenaltyScore|getAlignmentPatternPositions|finderPenalty\w+|numChars|bitData|onSnapshot|onUnavailable|retryAfterMs|rotatesAt|endedReason|isFailing|isLost|succeeded|firstMs|longestMs)$/

async function bundle(version: string): Promise<string> {
  // Imported here, so that a published package serves its prebuilt script without a bundler.
  const { build } = await import('esbuild')
  const root = fileURLToPath(new URL('..', import.meta.url))
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ['src/entry.ts'],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2022',
    conditions: ['@bonded/source'],
    minify: true,
    mangleProps: INTERNAL_MEMBERS,
    charset: 'utf8',
    legalComments: 'none',
    banner: {
      js: `/*! Pulse ${version}, Apache-2.0. QR code: uqr, MIT, Copyright (c) Project Nayuki, Anthony Fu. */`,
    },
    define: { PULSE_VERSION: JSON.stringify(version) },
    tsconfigRaw: {},
  })
  return outputFiles[0]!.text
}
