import { appendFileSync } from 'node:fs'
import { after, suite } from 'node:test'
import { pathToFileURL } from 'node:url'
import { countCpuTime } from './cpu-time.ts'

/** What a file costs, without programs that another one started, such as a shared PostgreSQL. */
export interface Cost {
  readonly tier: string
  readonly file: string
  readonly cpuSeconds: number
}

/** How long a process may last after its last test, where a test has left something open. */
const LEFT_OPEN_MS = 60_000

/**
 * Runs test files in this process, one after another. Each file is a suite of its own, so that its
 * hooks apply only to its tests, and reports name it.
 *
 * Most of a short file's time is the start of a process and the evaluation of the service's
 * modules, which the files of a batch share.
 *
 * Appends the CPU time of each file as JSON to the file that `TEST_COSTS` names.
 */
export async function runBatch(files: readonly string[], tier = 'test'): Promise<void> {
  let running: string | undefined
  const { TEST_COSTS = '' } = process.env
  const cpuSeconds = TEST_COSTS === '' ? undefined : countCpuTime()
  process.on('exit', (code) => {
    if (running === undefined) return
    // The runner would count a batch that ends early with code 0 as passed.
    process.exitCode = code === 0 ? 1 : code
    process.stderr.write(`${running} ended its process before its last test: ${code}\n`)
  })
  // Nothing can resolve what a test awaits, and the runner would wait without end.
  process.on('beforeExit', () => {
    if (running !== undefined) process.exit(1)
  })
  for (const file of files) {
    running = file
    const before = cpuSeconds?.() ?? 0
    await runFile(file)
    if (cpuSeconds !== undefined)
      appendFileSync(
        TEST_COSTS,
        `${JSON.stringify({ tier, file, cpuSeconds: cpuSeconds() - before } satisfies Cost)}\n`,
      )
    running = undefined
  }
  setTimeout(() => {
    const left = process.getActiveResourcesInfo().join(', ')
    process.stderr.write(`after its last test, ${files.at(-1)} keeps its process: ${left}\n`)
    process.exit(1)
  }, LEFT_OPEN_MS).unref()
}

/** A file may start a server or a browser when it is evaluated, so no other one runs with it. */
async function runFile(file: string): Promise<void> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  void suite(file, async () => {
    after(() => end())
    await import(pathToFileURL(file).href).catch((failure: unknown) => {
      end()
      throw failure
    })
  })
  await ended
}
