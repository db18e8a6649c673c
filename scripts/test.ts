import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { browserMissing, browsers } from '../tests/browser.ts'
import { batchesOf, filesRunBy, filesThatSearch, type Tier, TIERS } from './tiers.ts'

/**
 * `npm test`, `npm run test:e2e`, `npm run test:postgres`, `npm run test:app`,
 * `npm run test:soak`: runs the files of one tier (`tiers.ts`), after installing a browser where
 * possible. Passes other arguments to the runner, so that
 * `npm test -- FILE` runs one file of any tier. `--fresh` searches with a new seed, and with more
 * inputs and histories.
 */
const ROOT = resolve(import.meta.dirname, '..')
/** Tests use the second where they can, because it needs less CPU time. */
const PACKAGES = ['chromium', 'chromium-headless-shell']
/** Databases of fast tests are here: each of their thousands of commits waits for a disk. */
const RAM_DISK = '/dev/shm'
/** Containers often have 64 MB, which the service would report as a full disk. */
const MIN_RAM_DISK_BYTES = 1024 ** 3
const VECTORS = resolve(ROOT, '../shared/vectors')

ensureBrowser()
if (!existsSync(VECTORS))
  console.warn(
    `LOUD: the recorded vectors are not at ${VECTORS}; the cases that read them are counted as skipped.`,
  )

const [tierName = 'test', ...options] = process.argv.slice(2)
const given = options.filter((option) => option !== '--fresh')
const isFresh = given.length < options.length
const tier = TIERS.find((one) => one === tierName)
if (tier === undefined) throw new Error(`no tier ${tierName}; there are ${TIERS.join(', ')}`)
const folder = mkdtempSync(
  join(tier === 'test' && hasRamDisk() ? RAM_DISK : tmpdir(), 'bonded-tests-'),
)
const files = given.some((argument) => argument.endsWith('.ts')) ? [] : filesToRun(tier)
// Some tests run a part as another user, which must be able to reach its own folder below.
chmodSync(folder, 0o711)
const { TEST_TOTALS, FUZZ_SEED = isFresh ? String(randomInt(1, 2 ** 31)) : undefined } = process.env
const totalsBefore = totalsWritten()
const postgres = tier === 'postgres' ? await startServer() : {}
const run = spawnSync(
  process.execPath,
  // Small machines have two cores, and outside of the fast tests each process may start a browser.
  // Fast tests wait for the network a third of their time.
  [
    '--conditions=@bonded/source',
    '--test',
    `--test-concurrency=${tier === 'test' ? 4 : 2}`,
    // For a file that hangs. Beside other work, the slowest files take several times as long.
    '--test-timeout=1800000',
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${pathToFileURL(resolve(import.meta.dirname, 'test-reporter.ts')).href}`,
    '--test-reporter-destination=stdout',
    ...given,
    ...files,
  ],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      // A short file spends most of its time on type stripping and compiling.
      NODE_COMPILE_CACHE: resolve(ROOT, 'node_modules/.cache/tests'),
      TMPDIR: folder,
      ...postgres,
      ...process.env,
      ...(FUZZ_SEED && { FUZZ_SEED }),
      ...(isFresh && { TEST_FRESH: '1' }),
      NODE_OPTIONS: '--conditions=@bonded/source',
    },
  },
)
rmSync(folder, { recursive: true, force: true })
process.exitCode = run.status ?? 1
if (FUZZ_SEED !== undefined) console.log(`seed ${FUZZ_SEED}`)
if (FUZZ_SEED !== undefined && run.status !== 0)
  console.error(
    `Repeat a failure with FUZZ_SEED=${FUZZ_SEED} npm test -- ${isFresh ? '--fresh ' : ''}FILE`,
  )
// A run without a summary counts as a failure, because its tests were not counted.
if (TEST_TOTALS !== undefined && totalsWritten() === totalsBefore)
  appendFileSync(TEST_TOTALS, `${JSON.stringify({ passed: 0, failed: 1, skipped: 0 })}\n`)

/** The files of a tier. Fast tests share processes, so theirs are batches that import them. */
function filesToRun(of: Tier): readonly string[] {
  if (isFresh) return of === 'soak' ? filesThatSearch() : filesRunBy(of)
  if (of !== 'test') return filesRunBy(of)
  const batchModule = pathToFileURL(resolve(import.meta.dirname, 'batch.ts')).href
  return batchesOf(of).map((batch, index) => {
    const file = join(folder, `batch-${index + 1}.mjs`)
    const names = JSON.stringify(batch, undefined, 2)
    writeFileSync(file, `import { runBatch } from '${batchModule}'\nawait runBatch(${names})\n`)
    return file
  })
}

/** Starts one PostgreSQL server for all files. It ends with this process. */
async function startServer(): Promise<Readonly<Record<string, string>>> {
  const { startPostgres } = await import('../tests/harness/postgres.ts')
  const { port } = await startPostgres()
  return {
    TEST_STORE: 'postgres',
    TEST_POSTGRES_URL: `postgres://postgres@127.0.0.1:${port}/postgres`,
    // The nightly run on SQLite has many more.
    PRESSURE_RACES: '5',
  }
}

function hasRamDisk(): boolean {
  if (!existsSync(RAM_DISK)) return false
  const { bavail, bsize } = statfsSync(RAM_DISK)
  return bavail * bsize >= MIN_RAM_DISK_BYTES
}

function totalsWritten(): number {
  return TEST_TOTALS !== undefined && existsSync(TEST_TOTALS) ? statSync(TEST_TOTALS).size : 0
}

function ensureBrowser(): void {
  if (browsers.full && browsers.shell) return
  const debian = existsSync('/usr/bin/apt-get') && process.getuid?.() === 0
  if (!debian) {
    if (browserMissing) console.warn(`LOUD: ${browserMissing}`)
    return
  }
  console.warn(`Installing Debian’s ${PACKAGES.join(' and ')}. This happens once.`)
  for (const args of [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-install-recommends', ...PACKAGES],
  ]) {
    const step = spawnSync('apt-get', args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    if (step.status === 0) continue
    console.warn(`LOUD: apt-get ${args.join(' ')} failed.`)
    if (browserMissing) console.warn(`LOUD: ${browserMissing}`)
    return
  }
}
