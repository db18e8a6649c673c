import { globSync, readFileSync } from 'node:fs'
import { dirname, matchesGlob, relative, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')

/** The module that every random history, fuzzer and search draws from. */
const RANDOM = 'tests/random.ts'

/** `test` contains every file that no pattern of another tier matches. */
export const TIERS = ['test', 'service', 'e2e', 'postgres', 'app', 'soak'] as const
export type Tier = (typeof TIERS)[number]

/** Tiers whose short files share a process and write to memory. */
export const FAST: readonly Tier[] = ['test', 'service']

/** Every test file of the repository is in one of these folders. */
const EVERY_TEST = [
  'packages/*/tests/**/*.test.ts',
  'examples/*/tests/**/*.test.ts',
  'proofs/tests/**/*.test.ts',
  'tests/**/*.test.ts',
]

/**
 * The files that are too slow to run on every change, by measurement. One browser bond stays in
 * `test`: `tests/first-bond.test.ts`.
 */
export const SLOW: Readonly<Record<Exclude<Tier, 'test'>, readonly string[]>> = {
  /** The server’s files, and the other short ones that start the service with `tests/harness`. */
  service: [
    'packages/server/tests/*.test.ts',
    'packages/server/tests/{adapters,api,channel,http,settings,storage}/**/*.test.ts',
    'packages/{ciba/tests/config{,-problems},cli/tests/**/apply,cli/tests/**/outside,cli/tests/**/session-tail}.test.ts',
    'packages/cli/tests/**/{doctor-stored,printed}.test.ts',
    'packages/integrator/tests/{receipt,testing,verify-quorum,mcp/deleted-keys}.test.ts',
    'packages/console/tests/{answers,drawn-pages,names,narrowed-pages,narrowed-targets,quorum-page}.test.ts',
    'packages/sandbox/tests/{answering-phone,listen,parts,software-phone,trigger}.test.ts',
    'packages/service/tests/arguments/*.test.ts',
    'examples/demo/tests/guard.test.ts',
    'examples/phone-app/tests/{browser-key,device,signers}.test.ts',
    'tests/asyncapi.test.ts',
  ],
  /** Real browsers, real processes, installed tarballs. */
  e2e: [
    'examples/agents/tests/agents.test.ts',
    'examples/demo/tests/{agent,layout,scenarios}.test.ts',
    'packages/phone-page/tests/*.test.ts',
    'packages/integrator/tests/{redis-pending-store,approval/{quorum-crashes,redis-approval-store}}.test.ts',
    'packages/cli/tests/**/{full-disk,killed-output,lost-output,shown-secrets}.test.ts',
    'packages/ciba/tests/{blocked,ciba,ciba-process,fapi-ciba,flood,keycloak,keycloak-hostile,killed-provider,ping,repeated-answer}.test.ts',
    'packages/console/tests/{actions,console,console-process,flood,lies,pages,passkeys}.test.ts',
    'packages/cli/tests/**/beside-a-service.test.ts',
    'packages/cli/tests/**/{approve,audit,cli,doctor,killed-commands,operator,receipt,stats,subject-data,webhook}.test.ts',
    'packages/server/tests/{wake-up,webhook}-kill.test.ts',
    'packages/integrator/tests/receipt-python.test.ts',
    'packages/python/tests/*.test.ts',
    'packages/integrator/tests/mcp/{restart,stdio}.test.ts',
    'packages/sandbox/tests/{clock,clock-command,init-command,phone-inbox,phone-keys,trigger-command,try,try-page}.test.ts',
    'packages/service/tests/{audited-commands,command-tree,failures,help}.test.ts',
    'proofs/tests/{break-this-bond-page,durability,relay,relay-people}.test.ts',
    'proofs/tests/kit/{go,planted-faults,targets}.test.ts',
    'packages/cli/tests/**/{restore,restored-log,serve-*,tenant-*}.test.ts',
    'packages/server/tests/api/attested-lifecycle.test.ts',
    'packages/server/tests/subject/*.test.ts',
    'packages/widget/tests/{accessibility,appearance,bond,cold-load,csp,every-language}.test.ts',
    'packages/widget/tests/{foreign-messages,layout,network,npm,own-members,page,unfit}.test.ts',
    'packages/widget/tests/replaced-built-ins.test.ts',
    'tests/{batch,browser-key,display-texts,drawn-texts,http-front,lost-phone}.test.ts',
    'tests/{npm-signals,npm-start,quickstart,reader-variables}.test.ts',
    'tests/outside/*.test.ts',
    'tests/guides/{receipts,sandbox,screenshot,two-people}.test.ts',
    'tests/samples/programs.test.ts',
    'tests/widget/*/*.test.ts',
    'packages/widget/tests/containment/*.test.ts',
    'tests/pack/*.test.ts',
    'tests/deploy/*.test.ts',
  ],
  /** Start PostgreSQL. This tier also runs the files of `ON_POSTGRES`. */
  postgres: [
    'packages/{cli,python,store}/tests/postgres/*.test.ts',
    'packages/server/tests/storage/postgres/*.test.ts',
    'proofs/tests/postgres/*.test.ts',
    'tests/nodes/*.test.ts',
  ],
  /**
   * What installs from its own lockfile: the example app, with its screens against a real service
   * and its bundles with Expo, the documentation site, and a driver of a pending store.
   */
  app: [
    'examples/phone-app/tests/{app,build}.test.ts',
    'examples/{ai-sdk,django,express,fastify,hono,next,openai-agents,typescript}/tests/*.test.ts',
    'packages/integrator/tests/better-sqlite3/*.test.ts',
    'packages/python/tests/frameworks/*.test.ts',
    'tests/machines/*.test.ts',
    'tests/readme.test.ts',
    'tests/site/*.test.ts',
  ],
  /** Many random histories, inputs and mutants; kills and bursts. */
  soak: [
    // Every byte of every recording, and RSA keys for each passport.
    'packages/attestation/tests/apple/recorded-*.test.ts',
    'packages/attestation/tests/passport/verify-passport.test.ts',
    'packages/*/tests/**/*{fuzz,mutation}*.test.ts',
    'packages/*/tests/**/{model,*-model}.test.ts',
    'packages/integrator/tests/approval/approval-faults.test.ts',
    'proofs/tests/break-this-bond-search.test.ts',
    'tests/continuity.test.ts',
    'tests/mutants/*.test.ts',
    'tests/protocol-model.test.ts',
    'tests/pressure/*.test.ts',
  ],
}

/** The files of other tiers that the tier `postgres` runs again, with the service on PostgreSQL. */
export const ON_POSTGRES: readonly string[] = [
  'packages/cli/tests/**/{apply,killed-commands}.test.ts',
  'packages/console/tests/{actions,console}.test.ts',
  'packages/server/tests/clock-steps.test.ts',
  'packages/server/tests/channel/{browser-key,channel}.test.ts',
  'packages/server/tests/http/{credential-matrix,credentials,key-scope,webhook-api}.test.ts',
  'packages/server/tests/http/{null-character,one-response,pages/logos,poll,rejections,subjects}.test.ts',
  'packages/server/tests/api/{attest,attest-rules,audit,verify-audit,cancel-session,challenge}.test.ts',
  'packages/server/tests/api/{browser-failures,browser-key,browser-model,prove-browser}.test.ts',
  'packages/server/tests/api/{cosign-checkpoint,create-session,device-token-expiry}.test.ts',
  'packages/server/tests/api/{inbox-attacks,inbox-callers,inbox-limits,lifecycle,min-key-age,wake-ups}.test.ts',
  'packages/server/tests/api/{late-report,network-note,quorums,record-containment,register-device}.test.ts',
  'packages/server/tests/api/{receipt-log,receipts,recover-device}.test.ts',
  'packages/server/tests/api/admin/credentials.test.ts',
  'packages/server/tests/api/rotate-device-token.test.ts',
  'packages/server/tests/api/{states,step-up}.test.ts',
  'packages/server/tests/subject/{erase-subject,remove-tenant}.test.ts',
  'packages/server/tests/{audit-sender,wake-up-kill,webhook-claims,webhook-kill,webhook-metrics,webhook-sender}.test.ts',
  'packages/server/tests/api/{subject-keys,tenant-retention,timeline,unattested-keys}.test.ts',
  'packages/server/tests/storage/tables/total-table.test.ts',
  'packages/store/tests/tables/{audit-table,table-contract}.test.ts',
  'tests/pressure/{idempotency,races}.test.ts',
]

/** The test files of a tier, by path from the root. */
export function filesOf(tier: Tier): readonly string[] {
  return globSync(EVERY_TEST, { cwd: ROOT })
    .filter((file) => tiersOf(file).includes(tier))
    .toSorted()
}

/** Files that build the packages in place. They share a process: one of them builds at a time. */
const BUILDING: readonly string[] = [
  'tests/pack/pack.test.ts',
  'examples/phone-app/tests/build.test.ts',
]

/**
 * The files that take longest, by measurement, longest first. They start first, so that a run does
 * not wait for one of them at its end.
 */
export const SLOWEST: readonly string[] = [
  'tests/machines/stranger.test.ts',
  'tests/machines/npm-versions.test.ts',
  ...BUILDING,
  'tests/mutants/mutants.test.ts',
  'tests/machines/docker.test.ts',
  'tests/machines/image.test.ts',
  'tests/deploy/booted-units.test.ts',
  'tests/mutants/stryker.test.ts',
  'tests/protocol-model.test.ts',
  'tests/nodes/histories.test.ts',
  'tests/nodes/faults.test.ts',
  'tests/mutants/relay.test.ts',
  'packages/widget/tests/every-language.test.ts',
  'examples/demo/tests/scenarios.test.ts',
  'tests/nodes/proxy-restart.test.ts',
  'tests/nodes/receipt-log.test.ts',
  'tests/nodes/rolling-upgrade.test.ts',
  'tests/nodes/rolling-restart.test.ts',
  'tests/nodes/browser-proofs.test.ts',
  'packages/phone-page/tests/approve.test.ts',
  'packages/cli/tests/**/serve-failures.test.ts',
  'packages/server/tests/api/prove-browser.test.ts',
  'tests/pressure/histories.test.ts',
  'tests/pressure/races.test.ts',
  'packages/cli/tests/postgres/backup.test.ts',
  'packages/cli/tests/postgres/closed-log.test.ts',
  'packages/cli/tests/postgres/returned-primary.test.ts',
  'tests/nodes/failover.test.ts',
]

/** How many files share a process. Most of a short file's time is the start of its process. */
const FILES_A_BATCH: Readonly<Record<Tier, number>> = {
  // Small enough that two processes, each with a batch at a time, end at about the same time.
  test: 16,
  service: 16,
  e2e: 4,
  postgres: 6,
  app: 1,
  soak: 1,
}

/** Files of a tier that run in one process, one after another. */
export interface Batch {
  readonly tier: Tier
  readonly files: readonly string[]
}

/** The files of some tiers as batches, in the order in which they start. */
export function batchesOf(wanted: readonly Batch[]): readonly Batch[] {
  const batches = wanted.flatMap(({ tier, files }) => {
    const isAlone = (file: string) => !FAST.includes(tier) && SLOWEST.includes(file)
    const others = files.filter((file) => !isAlone(file))
    const size = FILES_A_BATCH[tier]
    return [
      ...files.filter((file) => isAlone(file) && !BUILDING.includes(file)).map((file) => [file]),
      ...Array.from({ length: Math.ceil(others.length / size) }, (_, index) =>
        others.slice(index * size, (index + 1) * size),
      ),
    ].map((together) => ({ tier, files: together }))
  })
  const building = wanted.flatMap(({ files }) => files.filter((file) => BUILDING.includes(file)))
  if (building.length > 0) batches.push({ tier: 'e2e', files: building })
  const rank = ({ files: [first = ''] }: Batch) =>
    SLOWEST.includes(first) ? SLOWEST.indexOf(first) : SLOWEST.length
  return batches.toSorted((a, b) => rank(a) - rank(b))
}

/** The test files that a run of the tier executes, by path from the root. */
export function filesRunBy(tier: Tier): readonly string[] {
  const again = tier === 'postgres' ? globSync([...ON_POSTGRES], { cwd: ROOT }) : []
  return [...filesOf(tier), ...again].toSorted()
}

/**
 * The files of `npm run test:soak -- --fresh`: those of the tier, and those of the other tiers that
 * draw from the seed, also through a module of the tests.
 */
export function filesThatSearch(): readonly string[] {
  const drawing = filesThatReach((file) => file === RANDOM)
  const tests = TIERS.flatMap((tier) => filesOf(tier))
  return [...new Set([...filesOf('soak'), ...tests.filter((file) => drawing.has(file))])].toSorted()
}

/** In a file whose tests need more than Node: a program, a browser, or recordings. */
const OUTSIDE = /'node:child_process'|(?:browser|vectors|recordings)Missing/

/**
 * Files of the fast tiers whose result depends on the machine: they need more than Node, or work
 * with its files and its account (`tests`).
 */
export function filesOfMachine(): readonly string[] {
  const needing = filesThatReach(
    // A module that most tests import, for the few that start PostgreSQL.
    (file, text) => file !== 'packages/store/tests/servers/postgres.ts' && OUTSIDE.test(text),
  )
  return FAST.flatMap((tier) => filesOf(tier)).filter(
    (file) => needing.has(file) || file.startsWith('tests/'),
  )
}

/** The modules of tests for which this is true, and all that import one of them. */
export function filesThatReach(
  isReached: (file: string, text: string) => boolean,
): ReadonlySet<string> {
  const sources = globSync('{tests,scripts,proofs,packages/*/tests,examples/*/tests}/**/*.ts', {
    cwd: ROOT,
    exclude: (path) => path.endsWith('node_modules'),
  }).map((file) => {
    const text = readFileSync(resolve(ROOT, file), 'utf8')
    return { file, text, imports: relativeImportsOf(file, text) }
  })
  const reaching = new Set(
    sources.filter(({ file, text }) => isReached(file, text)).map(({ file }) => file),
  )
  for (let before = -1; before < reaching.size; ) {
    before = reaching.size
    for (const { file, imports } of sources)
      if (imports.some((one) => reaching.has(one))) reaching.add(file)
  }
  return reaching
}

function relativeImportsOf(file: string, text: string): readonly string[] {
  return [...text.matchAll(/(?:from|import) '(\.[^']+)'/g)].map(([, name = '']) =>
    relative(ROOT, resolve(ROOT, dirname(file), name)),
  )
}

/**
 * The tiers of a test file. The table is wrong unless this is exactly one. `service` has what no
 * other tier takes from its folders.
 */
export function tiersOf(file: string): readonly Tier[] {
  const slow = (Object.keys(SLOW) as (keyof typeof SLOW)[]).filter((tier) =>
    SLOW[tier].some((pattern) => matchesGlob(file, pattern)),
  )
  if (slow.length === 0) return ['test']
  return slow.length > 1 ? slow.filter((tier) => tier !== 'service') : slow
}
