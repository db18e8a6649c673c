import { randomBytes } from 'node:crypto'
import { makeId } from '@bonded/contract'
import { systemRandom } from '../packages/server/src/adapters/keys/random.ts'
import { purgeSessions } from '../packages/core/src/operations/purge-sessions.ts'
import { TestClock } from '../tests/harness/test-clock.ts'
import { exchangeWith } from '../tests/pressure/exchange.ts'
import { addShop, registerPhone, run, SHOP_ORIGIN, workFolder } from '../tests/pressure/running.ts'
import { Line } from './line.ts'
import { comparePairs, samplesInRandomOrder } from './welch.ts'

/**
 * Tests whether response times reveal why a session is not found. Sends kinds of reads in random
 * order over keep-alive sockets and compares their times pairwise. Fails when a pair differs.
 *
 * npm run bench:timing -- [samples of each kind]
 */
const SAMPLES = Number(process.argv[2] ?? 50_000)
/** Sessions of each kind, so that no read benefits from the one before it. */
const SESSIONS = 300
/** A response mostly waits, so the benchmark keeps several requests in flight. */
const LINES = 8
const HOUR_MS = 3_600_000

using folder = workFolder()
const clock = new TestClock()
await using running = await run({ databaseFile: folder.databaseFile, clock })
using exchange = exchangeWith(() => running.port)
const { service } = running
const [ours, theirs] = [await addShop(service), await addShop(service)]
const [phone, other] = [await registerPhone(exchange), await registerPhone(exchange)]
const random = systemRandom()

interface Session {
  readonly id: string
  readonly nonce: string
}
const create = async (shop = ours): Promise<Session> =>
  (await exchange('POST', '/sessions', { token: shop.server, body: {} })).body
const several = async (make: () => Promise<Session>): Promise<readonly Session[]> => {
  const made: Session[] = []
  while (made.length < SESSIONS) made.push(await make())
  return made
}
const killed = async () => {
  const session = await create()
  await exchange('DELETE', `/sessions/${session.id}`, { token: ours.server })
  return session
}
const claimedByOther = async () => {
  const session = await create()
  const body = { nonce: session.nonce, device_id: other.device_id }
  await exchange('POST', `/sessions/${session.id}/claim`, { token: other.device_token, body })
  return session
}

const deleted = await several(killed)
clock.advance(25 * HOUR_MS)
while ((await purgeSessions(service)).more);
const purged = await several(killed)
clock.advance(2 * HOUR_MS)
const foreign = await several(() => create(theirs))
const [live, claimed] = [await several(() => create()), await several(claimedByOther)]

/**
 * The benchmark builds every request in advance, so that building them does not affect the times.
 */
type Kind = readonly [name: string, paths: readonly string[]]
/**
 * A nonce of the usual form in one contiguous string. V8 would flatten a concatenated one anew for
 * every request.
 */
const anyNonce = () => randomBytes(32).toString('base64url')
const unknown = Array.from({ length: SESSIONS }, () => ({
  id: makeId('sess', random.id()),
  nonce: anyNonce(),
}))
const pathsOf = (sessions: readonly Session[]) => sessions.map(({ id }) => `/api/v1/sessions/${id}`)
const pathsWithNonce = (sessions: readonly Session[]) =>
  sessions.map(({ id, nonce }) => `/api/v1/sessions/${id}?nonce=${nonce}`)
const FOR_TENANTS: readonly Kind[] = [
  ['unknown', pathsOf(unknown)],
  ['foreign', pathsOf(foreign)],
  ['purged', pathsOf(purged)],
  ['deleted', pathsOf(deleted)],
]
const GROUPS: readonly {
  readonly caller: string
  readonly headers: Readonly<Record<string, string>>
  readonly kinds: readonly Kind[]
}[] = [
  { caller: 'backend', headers: { authorization: `Bearer ${ours.server}` }, kinds: FOR_TENANTS },
  {
    caller: 'browser',
    headers: {
      authorization: `Bearer ${ours.publishable}`,
      origin: SHOP_ORIGIN,
      'x-bond-watch': `bwt_${random.base62(43)}`,
    },
    kinds: [...FOR_TENANTS, ['wrong token', pathsOf(live)]],
  },
  {
    caller: 'phone',
    headers: { authorization: `Bearer ${phone.device_token}` },
    kinds: [
      ['unknown', pathsWithNonce(unknown)],
      ['purged', pathsWithNonce(purged)],
      ['deleted', pathsWithNonce(deleted)],
      ['wrong nonce', pathsWithNonce(live.map(({ id }) => ({ id, nonce: anyNonce() })))],
      ['claimed by another', pathsWithNonce(claimed)],
    ],
  },
]

let distinguishable = 0
for (const { caller, headers, kinds } of GROUPS) {
  const times = kinds.map(() => new Float64Array(SAMPLES))
  const samples = samplesInRandomOrder(kinds.length, SAMPLES)
  const ask = async () => {
    using line = await Line.open(running.port)
    for (const { kind, sample } of samples) {
      const [name, paths] = kinds[kind] as Kind
      const { status, micros } = await line.get(paths[sample % SESSIONS] as string, headers)
      if (status !== 404) throw new Error(`${caller}, ${name}: responded with ${status}`)
      ;(times[kind] as Float64Array)[sample] = micros
    }
  }
  await Promise.all(Array.from({ length: LINES }, ask))
  distinguishable += comparePairs({
    caller,
    kinds: kinds.map(([name], at) => ({ name, times: times[at] as Float64Array })),
  })
}
process.exitCode = distinguishable > 0 ? 1 : 0
