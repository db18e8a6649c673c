import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Recorded cases live beside the project, not in it. */
const FOLDER = resolve(import.meta.dirname, '../../../../shared/vectors')

/**
 * The recordings, which others have published and this project cannot create. Data of our own
 * formats comes from code instead (`worked-example.ts`, `@bonded/simulator`), so that its tests run
 * in every clone.
 */
export type Published =
  /** Attestation chains of Android devices, their revocation list (Google). */
  | 'android-key'
  /** Attestations and assertions of iPhones, with Apple's roots. */
  | 'app-attest'
  /** The OpenAPI files of CAMARA. */
  | 'camara'
  /** Security objects of real passports, and a master list (states, BSI). */
  | 'icao9303'
  /** RFC 8785. */
  | 'jcs'
  /** The example and the cases of Standard Webhooks. */
  | 'standard-webhooks'
  /** Vectors of WebAuthn Level 3, and captures of authenticators. */
  | 'webauthn'

/** Why the cases that need the recorded vectors are skipped, or false when they are there. */
export const vectorsMissing: string | false = existsSync(FOLDER)
  ? false
  : `the recorded vectors are not at ${FOLDER}; the cases that read them are skipped`

/** The bytes of one recorded file. */
export function readVector(published: Published, ...path: string[]): Buffer {
  return readFileSync(join(FOLDER, published, ...path))
}

/** The paths of all recorded files below a folder, in order. */
export function listVectors(published: Published, ...path: string[]): string[] {
  return readdirSync(join(FOLDER, published, ...path), {
    recursive: true,
    encoding: 'utf8',
  }).sort()
}
