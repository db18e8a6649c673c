import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Beside the compile cache of Node. Write access here already allows changing the code itself. */
const FOLDER = fileURLToPath(new URL('../../../node_modules/.cache/pulse', import.meta.url))
const { version } = createRequire(import.meta.url)('terser/package.json') as { version: string }

/**
 * Returns what Terser made of the same input before, or makes it. It takes a second of CPU time,
 * and each start of the service from its sources has the same input as the one before it.
 */
export async function keepByInput<Output extends object>(
  input: unknown,
  make: () => Promise<Output>,
): Promise<Output> {
  const key = createHash('sha256')
    .update(JSON.stringify([version, input]))
    .digest('hex')
  const file = join(FOLDER, `${key}.json`)
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Output
  } catch {
    // Not made before, or a process ended while it wrote the file.
  }
  const output = await make()
  await keep(file, output).catch(() => {
    // The sources belong to another user, or are read-only. It is made again at the next start.
  })
  return output
}

/** Writes the file whole, because other processes read it meanwhile. */
async function keep(file: string, output: object): Promise<void> {
  await mkdir(FOLDER, { recursive: true })
  const written = `${file}.${process.pid}`
  await writeFile(written, JSON.stringify(output))
  await rename(written, file)
}
