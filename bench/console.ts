import type { SignInMethod, SignInParts } from '../packages/console/src/sign-in.ts'
import { cookie, redirect, SESSION_COOKIE } from '../packages/console/src/answer.ts'
import { ROUTES } from '../packages/console/src/routes.ts'
import { serveConsole } from '../packages/console/src/server.ts'
import { TIME_SPANS } from '../packages/console/src/time-spans.ts'
import { addressOf } from '../packages/console/tests/addresses.ts'
import { NO_RECEIVER } from '../packages/console/tests/setup.ts'
import { Visitor } from '../packages/console/tests/http-client.ts'
import { freePort } from '../packages/store/tests/servers/free-port.ts'
import { harness } from '../tests/harness/harness.ts'
import pino from 'pino'
import { fill, type Names, type Sizes } from './console-data.ts'
import { BenchPostgres } from './postgres-nodes.ts'
import { median, tenths } from './process.ts'

/**
 * Measures the server time of every page of the console, on SQLite and on PostgreSQL: from the
 * request until the last byte, with the client in the same process. Prints one line of JSON for
 * each store, with the slowest page first.
 */
const SIZES: Sizes = {
  tenants: Number(process.env.BENCH_TENANTS ?? 10_000),
  sessions: Number(process.env.BENCH_SESSIONS ?? 100_000),
  receipts: Number(process.env.BENCH_RECEIPTS ?? 1_000_000),
}
const ROUNDS = 15
/** Statements are prepared, and code is compiled. */
const WARM_UP_ROUNDS = 3
const LIMIT_MS = 200

const postgres = await BenchPostgres.start()
for (const store of ['sqlite', 'postgres'] as const) {
  await using h = await harness({
    webhooks: NO_RECEIVER,
    ...(store === 'postgres' && { onPostgres: postgres.server }),
  })
  const began = performance.now()
  const names = await fill(h, SIZES)
  const fill_seconds = Math.round((performance.now() - began) / 1_000)
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const log = pino({ level: 'warn' }, pino.destination(2))
  const given = { service: h.service, origin, signIn, host: '127.0.0.1', port, log }
  await using running = await serveConsole(given)
  const visitor = new Visitor(`http://localhost:${running.port}`)
  await visitor.open('/sign-in')
  const figures: Awaited<ReturnType<typeof measure>>[] = []
  for (const page of addressesOf(names)) figures.push(await measure(visitor, page, names))
  const pages = figures.toSorted((a, b) => b.p50_ms - a.p50_ms)
  console.log(JSON.stringify({ store, ...SIZES, fill_seconds, limit_ms: LIMIT_MS, pages }))
}
await postgres.stop()

/** Loads a page several times. The CPU time is that of this process, with its SQLite. */
async function measure(visitor: Visitor, address: string, names: Names) {
  const times: number[] = []
  let cpu = process.cpuUsage()
  for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
    if (round === 0) cpu = process.cpuUsage()
    const start = performance.now()
    const { status, text } = await visitor.step(address)
    if (round >= 0) times.push(performance.now() - start)
    if (status !== 200) throw new Error(`${address} answered ${status} ${text}`)
  }
  const { user, system } = process.cpuUsage(cpu)
  const p50 = median(times)
  return {
    page: Object.values(names).reduce((text, id: string) => text.replace(id, '…'), address),
    p50_ms: tenths(p50),
    max_ms: tenths(Math.max(...times)),
    cpu_ms: tenths((user + system) / 1_000 / ROUNDS),
    of_limit: Number((p50 / LIMIT_MS).toFixed(2)),
  }
}

/** Signs everyone in as an administrator, without a provider. */
function signIn({ sessions, now }: SignInParts): SignInMethod {
  const operator = { subject: 'ada', issuer: undefined, label: 'ada', role: 'admin' } as const
  return {
    answer: async ({ url }) =>
      url.pathname === '/sign-in'
        ? redirect('/', [
            cookie(SESSION_COOKIE, sessions.begin({ ...operator, provedAt: now() }, undefined)),
          ])
        : undefined,
    isCurrent: () => true,
  }
}

/** The address of every page, and of those with filters that read something else. */
function addressesOf(names: Names): readonly string[] {
  const { session, waiting, tenant, subject_ref: user, request } = names
  const queries: Readonly<Record<string, readonly string[]>> = {
    '/rejections': ['', `?q=${request}`, `?q=${session}`, `?q=${user}`, '?reason=not_found'],
    '/changes': ['', `?about=${tenant}`, `?about=${names.device}`, '?action=session+kill'],
    '/tenants': ['', '?q=9999'],
    '/health': [
      ...Object.keys(TIME_SPANS).flatMap((span) =>
        ['', `&tenant=${tenant}`].map((by) => `?span=${span}${by}`),
      ),
      '?span=hour&workflow=credit_application',
    ],
  }
  return ROUTES.flatMap(({ path }) => {
    const id = path.endsWith('/end') ? waiting : session
    const address = addressOf(path, { ...names, session: id })
    return (queries[path] ?? ['']).map((query) => address + query)
  })
}
