import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { writeTypeLibrary } from './type-library.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const require = createRequire(import.meta.url)
const COMPILER = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc')

/**
 * Checks scripts and everything that they import: their syntax, and each function of the language
 * and the DOM by the type that it is called on.
 *
 * @param files relative to the repository
 * @returns the compiler's errors, one a line
 */
export async function checkScripts(files: readonly string[]): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-oldest-'))
  try {
    const config = join(folder, 'tsconfig.json')
    writeFileSync(
      config,
      JSON.stringify({
        extends: join(ROOT, 'tsconfig.base.json'),
        // All of the oldest browsers have the syntax of this year, which the bundlers also target.
        compilerOptions: { target: 'es2022', noLib: true, types: [] },
        files: [...writeTypeLibrary(folder), ...files.map((file) => resolve(ROOT, file))],
      }),
    )
    const output = await new Promise<string>((done) =>
      execFile(process.execPath, [COMPILER, '-p', config, '--pretty', 'false'], (_error, stdout) =>
        done(stdout),
      ),
    )
    return output.split('\n').filter((line) => line.includes('error TS'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
