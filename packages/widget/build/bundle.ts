import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/** The hosted script, ready to be served as `/v1/pulse.js` and `/v1/pulse-<version>.js`. */
export interface PulseScript {
  /** UTF-8 JavaScript. */
  readonly source: string
  /** For `integrity=` of the pinned address: `sha384-…`. */
  readonly integrity: string
  readonly version: string
}

/**
 * The script: the prebuilt one that stands beside this file in a published package, else bundled from the
 * sources now. The same sources give the same bytes.
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
    // In the repository nothing stands here.
    return undefined
  }
}

/**
 * Members that only the classes of uqr use on each other. Their long names would cost 165 B gzip;
 * esbuild shortens them everywhere in the script, so none may be a member of a browser API.
 */
const UQR_INTERNALS =
  /^(?:draw[A-Z]\w+|setFunctionModule|addEccAndInterleave|applyMask|getPenaltyScore|getAlignmentPatternPositions|finderPenalty\w+|numChars|bitData)$/

async function bundle(version: string): Promise<string> {
  // Here, not above: a published package serves its prebuilt script without loading a bundler.
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
    mangleProps: UQR_INTERNALS,
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
