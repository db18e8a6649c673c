import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

/** Recorded cases live beside the project, not in it. */
const FOLDER = resolve(import.meta.dirname, '../../../../shared/vectors')

/** Why the cases that need the recorded vectors are skipped, or false when they are there. */
export const vectorsMissing: string | false = existsSync(FOLDER)
  ? false
  : `the recorded vectors are not at ${FOLDER}; the cases that read them are skipped`

/** The bytes of one recorded file. */
export function readVector(...path: string[]): Buffer {
  return readFileSync(join(FOLDER, ...path))
}

/** The paths of all recorded files below a folder, in order. */
export function listVectors(...path: string[]): string[] {
  return readdirSync(join(FOLDER, ...path), { recursive: true, encoding: 'utf8' }).sort()
}
