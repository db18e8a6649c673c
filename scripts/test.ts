import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

/**
 * `npm test`: gets a browser where it can, then runs every test file. Arguments are passed on to the runner,
 * so `npm test -- packages/contract/tests/encoding.test.ts` runs one file.
 */
const ROOT = resolve(import.meta.dirname, '..')
const BROWSERS = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]
const VECTORS = resolve(ROOT, '../shared/vectors')

ensureBrowser()
if (!existsSync(VECTORS))
  console.warn(
    `LOUD: the recorded vectors are not at ${VECTORS}; the cases that read them are counted as skipped.`,
  )

const given = process.argv.slice(2)
const files = given.some((argument) => argument.endsWith('.ts'))
  ? []
  : ['packages/*/tests/**/*.test.ts', 'examples/*/tests/**/*.test.ts', 'tests/**/*.test.ts']
const run = spawnSync(
  process.execPath,
  // Two files at once: each may hold a browser, and the machines this runs on are small.
  [
    '--conditions=@bonded/source',
    '--test',
    '--test-concurrency=2',
    '--test-timeout=600000',
    ...given,
    ...files,
  ],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, NODE_OPTIONS: '--conditions=@bonded/source' },
  },
)
process.exitCode = run.status ?? 1

function ensureBrowser(): void {
  if (BROWSERS.some((path) => path !== undefined && existsSync(path))) return
  const debian = existsSync('/usr/bin/apt-get') && process.getuid?.() === 0
  if (!debian) {
    console.warn(
      'LOUD: there is no Chromium here. Install one, or name it in CHROMIUM_PATH; until then the browser tests are counted as skipped.',
    )
    return
  }
  console.warn(
    'No Chromium here: installing Debian’s (apt-get install chromium). This happens once.',
  )
  for (const args of [
    ['update', '-q'],
    ['install', '-y', '-q', '--no-install-recommends', 'chromium'],
  ]) {
    const step = spawnSync('apt-get', args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    if (step.status !== 0) {
      console.warn(
        `LOUD: apt-get ${args.join(' ')} failed. Install Chromium by hand; until then the browser tests are counted as skipped.`,
      )
      return
    }
  }
}
