import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import { run } from 'node:test'
import type { Fault } from '../tests/faults/fault.ts'
import { staleness } from '../tests/faults/fault.ts'
import { FAULTS } from '../tests/faults/index.ts'
import { Overlay } from '../tests/faults/overlay.ts'

/**
 * `npm run faults`: switches each planted fault on in turn, in a copy of the sources, and asks whether its tests
 * notice. An argument takes only the faults whose name or file holds it. A fault that survives, that does not fit the
 * code any more, or that keeps a file from loading ends the run with 1.
 */
const ROOT = resolve(import.meta.dirname, '..')
/** As many at once as `npm test` has files at once, where there are processors for it. */
const LANES = Math.min(2, availableParallelism())
/** A test that waits for what never comes has noticed too. Three times what the slowest takes on a busy machine. */
const TEST_TIMEOUT_MS = 20_000

/** What became of a run of some test files. */
type Outcome =
  | { readonly kind: 'passed' }
  | { readonly kind: 'failed'; readonly test: string }
  /** No test failed, but a file did: it does not load. Nobody needs a test to see that. */
  | { readonly kind: 'broken'; readonly file: string }

process.exitCode = await main(process.argv[2] ?? '')

async function main(wanted: string): Promise<number> {
  const startedMs = performance.now()
  const faults = FAULTS.filter(({ name, file }) => `${file} ${name}`.includes(wanted))
  using stack = new DisposableStack()
  // Each lane breaks a copy of its own.
  const overlays = Array.from({ length: LANES }, () => stack.use(new Overlay(ROOT)))
  const [first] = overlays
  if (first === undefined) throw new RangeError('there is no lane')
  process.env.NODE_OPTIONS = '--conditions=@bonded/source'
  // Most of a short test is stripping types and compiling: once for all runs.
  process.env.NODE_COMPILE_CACHE = join(first.root, 'compile-cache')

  const baseline = await outcomeOf(first, [...new Set(faults.flatMap(({ tests }) => tests))], LANES)
  if (baseline.kind !== 'passed') {
    console.error('without any fault the tests do not pass:', baseline)
    return 1
  }
  let bad = 0
  // One queue: who is done takes the next.
  const queue = faults.values()
  await Promise.all(
    overlays.map(async (overlay) => {
      for (const fault of queue) {
        const { caught, because } = await verdictOn(overlay, fault)
        if (!caught) bad++
        console.log(
          `${caught ? 'caught  ' : 'SURVIVED'} ${fault.name}\n         ${fault.file}: ${because}`,
        )
      }
    }),
  )
  const seconds = Math.round((performance.now() - startedMs) / 1_000)
  console.log(`${faults.length - bad} of ${faults.length} faults caught, in ${seconds} s`)
  return bad === 0 && faults.length > 0 ? 0 : 1
}

async function verdictOn(
  overlay: Overlay,
  fault: Fault,
): Promise<{ caught: boolean; because: string }> {
  const stale = staleness(fault, overlay.read(fault))
  if (stale !== undefined) return { caught: false, because: `stale: ${stale}` }
  const outcome = await overlay.broken(fault, () => outcomeOf(overlay, fault.tests))
  switch (outcome.kind) {
    case 'passed':
      return { caught: false, because: `no test of ${fault.tests.join(', ')} fails` }
    case 'broken':
      return { caught: false, because: `${outcome.file} does not load; that needs no test` }
    case 'failed':
      return { caught: true, because: `“${outcome.test}” fails` }
  }
}

/** Runs the files, so many at once, up to the first test that fails. */
async function outcomeOf(
  overlay: Overlay,
  tests: readonly string[],
  concurrency = 1,
): Promise<Outcome> {
  const stop = new AbortController()
  const files = tests.map((file) => join(overlay.root, file))
  let outcome: Outcome = { kind: 'passed' }
  const stream = run({
    files,
    cwd: overlay.root,
    concurrency,
    timeout: TEST_TIMEOUT_MS,
    signal: stop.signal,
  })
  for await (const { type, data } of stream) {
    if (type !== 'test:fail' || outcome.kind !== 'passed') continue
    // A file is a test as well, named after itself; it fails where no test of its own says why.
    const isFile = files.some((file) => file.endsWith(data.name))
    outcome = isFile ? { kind: 'broken', file: data.name } : { kind: 'failed', test: data.name }
    stop.abort()
  }
  return outcome
}
