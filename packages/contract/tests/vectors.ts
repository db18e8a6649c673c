import { existsSync, readFileSync } from 'node:fs'
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
