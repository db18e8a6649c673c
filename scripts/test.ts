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
import { join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { browserMissing, browsers } from '../tests/browser.ts'
import { filesOfGate, filesOfRest } from './gate.ts'
import {
  type Batch,
  batchesOf,
  FAST,
  filesOfMachine,
  filesRunBy,
  filesThatSearch,
  type Tier,
  TIERS,
} from './tiers.ts'

/**
 * `npm test`, `npm run test:service`, `npm run test:e2e`, `npm run test:postgres`,
 * `npm run test:app`, `npm run test:soak`: runs the files of one tier (`tiers.ts`), after
 * installing a browser where possible. `npm run test:gate` runs what `.ci/run` has besides the fast
 * tests, and `npm run test:rest` what `.ci/full` adds (`gate.ts`).
 * `npm test -- FOLDER` runs those of a folder. Passes other arguments to the runner, so that
 * `npm test -- FILE` runs one file of any tier. `--fresh` searches with a new seed, and with more
 * inputs, histories and languages. `--machine` runs the files of the fast tiers whose result
 * depends on the machine.
 */
const ROOT = resolve(import.meta.dirname, '..')
/**
 * Tests use the second where they can, because it needs less CPU time. The third is as wide as the
 * fonts of phones, for which the pages are measured.
 */
const PACKAGES = ['chromium', 'chromium-headless-shell', 'fonts-noto-core']
/** Databases of the fast tiers are here: each of their thousands of commits waits for a disk. */
const RAM_DISK = '/dev/shm'
/** Containers often have 64 MB, which the service would report as a full disk. */
const MIN_RAM_DISK_BYTES = 1024 ** 3
/** Runs of files of several tiers. */
const RUNS: Readonly<Record<string, () => readonly Batch[]>> = {
  gate: filesOfGate,
  rest: filesOfRest,
}
/** 12:45 or 13:45 hours ahead: what takes local time for UTC is wrong by a part of an hour. */
const FAR_FROM_UTC = { TZ: 'Pacific/Chatham' }
const VECTORS = resolve(ROOT, '../shared/vectors')

ensureBrowser()
if (!existsSync(VECTORS))
  console.warn(
    `LOUD: the recorded vectors are not at ${VECTORS}; the cases that read them are counted as skipped.`,
  )

const [tierName = 'test', ...options] = process.argv.slice(2)
const isFresh = options.includes('--fresh')
const isOfMachine = options.includes('--machine')
const isFolder = (option: string) => existsSync(option) && statSync(option).isDirectory()
/** Only tests below these folders run. */
const folders = options.filter(isFolder).map((path) => relative(ROOT, resolve(path)))
const given = options.filter(
  (option) => !['--fresh', '--machine'].includes(option) && !isFolder(option),
)
// The runner would leave out what it does not find, and the run would succeed.
const missing = given.filter((name) => /^(?!-)[^*]+\.ts$/.test(name) && !existsSync(name))
if (missing.length > 0) throw new Error(`no such file: ${missing.join(', ')}`)
const ofRun = RUNS[tierName]?.()
const tiers = ofRun?.map(({ tier }) => tier) ?? TIERS.filter((one) => one === tierName)
if (tiers.length === 0) throw new Error(`no tier ${tierName}; there are ${TIERS.join(', ')}`)
const isFast = tiers.every((tier) => FAST.includes(tier))
const inMemory = mkdtempSync(join(hasRamDisk() ? RAM_DISK : tmpdir(), 'bonded-tests-'))
const folder = isFast ? inMemory : mkdtempSync(join(tmpdir(), 'bonded-tests-'))
const postgres = tiers.includes('postgres') ? await startServer() : {}
const files = given.some((argument) => argument.endsWith('.ts')) ? [] : filesToRun()
// Some tests run a part as another user, which must be able to reach its own folder below.
for (const path of [folder, inMemory]) chmodSync(path, 0o711)
const { TEST_TOTALS, FUZZ_SEED = isFresh ? String(randomInt(1, 2 ** 31)) : undefined } = process.env
// They replace absent parameters of the database URLs in tests, and a developer may have set them.
for (const name of ['PGSSLMODE', 'PGSSLROOTCERT', 'PGPASSWORD']) delete process.env[name]
const totalsBefore = totalsWritten()
const run = spawnSync(
  process.execPath,
  // For two cores. Fast tests wait for the network a third of their time, and the others half of
  // theirs, for a registry, a browser, or another process.
  [
    '--conditions=@bonded/source',
    '--test',
    '--test-concurrency=4',
    // For a file that hangs. Beside other work, the slowest files take several times as long.
    `--test-timeout=${tierName === 'gate' ? 600_000 : 1_800_000}`,
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
      ...(tiers.length === 1 && postgres),
      ...(isFast && FAR_FROM_UTC),
      ...process.env,
      ...(FUZZ_SEED && { FUZZ_SEED }),
      ...(isFresh && { TEST_FRESH: '1' }),
      NODE_OPTIONS: '--conditions=@bonded/source',
    },
  },
)
for (const path of [folder, inMemory]) rmSync(path, { recursive: true, force: true })
process.exitCode = run.status ?? 1
if (FUZZ_SEED !== undefined) console.log(`seed ${FUZZ_SEED}`)
if (FUZZ_SEED !== undefined && run.status !== 0)
  console.error(
    `Repeat a failure with FUZZ_SEED=${FUZZ_SEED} npm test -- ${isFresh ? '--fresh ' : ''}FILE`,
  )
// A run without a summary counts as a failure, because its tests were not counted.
if (TEST_TOTALS !== undefined && totalsWritten() === totalsBefore)
  appendFileSync(TEST_TOTALS, `${JSON.stringify({ passed: 0, failed: 1, skipped: 0 })}\n`)

/** Modules that each import a batch of files. The runner sorts them by name before it starts. */
function filesToRun(): readonly string[] {
  const wanted = tiers.map((tier) => ({
    tier,
    files: filesOfRun(tier).filter(isWanted),
  }))
  if (wanted.every(({ files: found }) => found.length === 0)) {
    const others = TIERS.filter((tier) => filesRunBy(tier).some(isWanted))
    const where = `${tierName} is in ${folders.join(', ')}`
    throw new Error(`no test of the tier ${where}, which has tests of: ${others.join(', ')}`)
  }
  return batchesOf(wanted).map((batch, index) => {
    const file = join(folder, `batch-${String(index + 1).padStart(3, '0')}.mjs`)
    writeFileSync(file, moduleOf(batch))
    return file
  })
}

function filesOfRun(tier: Tier): readonly string[] {
  if (ofRun !== undefined) return ofRun.find((one) => one.tier === tier)?.files ?? []
  if (isFresh && tier === 'soak') return filesThatSearch()
  return isOfMachine && tier === 'test' ? filesOfMachine() : filesRunBy(tier)
}

function isWanted(file: string): boolean {
  return folders.length === 0 || folders.some((path) => file.startsWith(`${path}${sep}`))
}

function moduleOf({ tier, files: names }: Batch): string {
  const batchModule = pathToFileURL(resolve(import.meta.dirname, 'batch.ts')).href
  const ofFast = FAST.includes(tier) ? { TMPDIR: inMemory, ...FAR_FROM_UTC } : {}
  const env = tier === 'postgres' ? postgres : ofFast
  return `import { runBatch } from '${batchModule}'
Object.assign(process.env, ${JSON.stringify(env)})
await runBatch(${JSON.stringify(names, undefined, 2)}, '${tier}')
`
}

/** Starts one PostgreSQL server for all files. It ends with this process. */
async function startServer(): Promise<Readonly<Record<string, string>>> {
  const { startPostgres } = await import('../packages/store/tests/servers/postgres.ts')
  const { port } = await startPostgres()
  const { TEST_STORE, TEST_POSTGRES_URL, PRESSURE_RACES } = process.env
  return {
    TEST_STORE: TEST_STORE ?? 'postgres',
    TEST_POSTGRES_URL: TEST_POSTGRES_URL ?? `postgres://postgres@127.0.0.1:${port}/postgres`,
    // The run on SQLite has many more.
    PRESSURE_RACES: PRESSURE_RACES ?? '5',
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
  console.warn(`Installing Debian’s ${PACKAGES.join(', ')}. This happens once.`)
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
