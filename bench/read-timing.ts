import { makeId } from '@bonded/contract'
import { systemRandom } from '../packages/service/src/adapters/keys/random.ts'
import { forgetSessions } from '../packages/service/src/operations/forget-sessions.ts'
import { TestClock } from '../packages/service/tests/test-clock.ts'
import { exchangeWith } from '../tests/pressure/exchange.ts'
import { addShop, registerPhone, run, SHOP_ORIGIN, workFolder } from '../tests/pressure/running.ts'
import { Line } from './line.ts'
import { worstWelchT } from './welch.ts'

/**
 * Whether the time of an answer tells why a session is not found: kinds of reads in random order over one socket,
 * their times compared two by two. Fails where a pair can be told apart.
 *
 *     node --conditions=@bonded/source bench/read-timing.ts [samples of each kind]
 */
const SAMPLES = Number(process.argv[2] ?? 50_000)
/** Above this, two sets of times differ (dudect's bound: once in 100,000 by chance). */
const TELLS_APART = 4.5
/** Sessions of each kind: no read may profit from the one before. */
const SESSIONS = 300
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
const create = async (shop = ours): Promise<Session> => (await exchange('POST', '/sessions', { token: shop.server, body: {} })).body
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
while ((await forgetSessions(service)).more);
const forgotten = await several(killed)
clock.advance(2 * HOUR_MS)
const foreign = await several(() => create(theirs))
const [live, claimed] = [await several(() => create()), await several(claimedByOther)]

/** What can be asked for: a session, and what is shown for it, of the same length whatever the kind. */
type Kind = readonly [name: string, path: () => string]
const one = (sessions: readonly Session[]): Session => sessions[Math.floor(Math.random() * sessions.length)] as Session
const unknown = () => makeId('sess', random.id())
const token = (prefix: string) => prefix + random.base62(43)
const read = (id: string) => `/api/v1/sessions/${id}`
const GROUPS: readonly { readonly caller: string; readonly headers: () => Readonly<Record<string, string>>; readonly kinds: readonly Kind[] }[] = [
  {
    caller: 'backend',
    headers: () => ({ authorization: `Bearer ${ours.server}` }),
    kinds: [
      ['unknown', () => read(unknown())],
      ['foreign', () => read(one(foreign).id)],
      ['forgotten', () => read(one(forgotten).id)],
      ['deleted', () => read(one(deleted).id)],
    ],
  },
  {
    caller: 'browser',
    headers: () => ({ authorization: `Bearer ${ours.publishable}`, origin: SHOP_ORIGIN, 'x-bond-watch': token('bwt_') }),
    kinds: [
      ['unknown', () => read(unknown())],
      ['foreign', () => read(one(foreign).id)],
      ['forgotten', () => read(one(forgotten).id)],
      ['deleted', () => read(one(deleted).id)],
      ['wrong token', () => read(one(live).id)],
    ],
  },
  {
    caller: 'phone',
    headers: () => ({ authorization: `Bearer ${phone.device_token}` }),
    kinds: [
      ['unknown', () => `${read(unknown())}?nonce=${token('')}`],
      ['forgotten', () => `${read(one(forgotten).id)}?nonce=${one(forgotten).nonce}`],
      ['deleted', () => `${read(one(deleted).id)}?nonce=${one(deleted).nonce}`],
      ['wrong nonce', () => `${read(one(live).id)}?nonce=${token('')}`],
      ['claimed by another', () => `${read(one(claimed).id)}?nonce=${one(claimed).nonce}`],
    ],
  },
]

using line = await Line.open(running.port)
let toldApart = 0
for (const { caller, headers, kinds } of GROUPS) {
  const times = kinds.map(() => new Float64Array(SAMPLES))
  for (const at of shuffled(kinds.length, SAMPLES)) {
    const [name, path] = kinds[at.kind] as Kind
    const { status, micros } = await line.get(path(), headers())
    if (status !== 404) throw new Error(`${caller}, ${name}: answered ${status}`)
    ;(times[at.kind] as Float64Array)[at.sample] = micros
  }
  for (const [a, [nameA]] of kinds.entries()) {
    for (const [b, [nameB]] of kinds.entries()) {
      if (b <= a) continue
      const t = worstWelchT(times[a] as Float64Array, times[b] as Float64Array)
      if (Math.abs(t) >= TELLS_APART) toldApart += 1
      console.log(`${caller}: ${nameA} / ${nameB}: t = ${t.toFixed(2)}${Math.abs(t) >= TELLS_APART ? '  TOLD APART' : ''}`)
    }
  }
  console.log(`${caller}: medians ${kinds.map(([name], at) => `${name} ${median(times[at] as Float64Array).toFixed(0)} µs`).join(', ')}`)
}
process.exitCode = toldApart > 0 ? 1 : 0

/** Every sample of every kind once, in random order. */
function* shuffled(kinds: number, samples: number): Generator<{ kind: number; sample: number }> {
  const order = Uint32Array.from({ length: kinds * samples }, (_, at) => at)
  for (let at = order.length - 1; at > 0; at--) {
    const swap = Math.floor(Math.random() * (at + 1))
    const kept = order[at] as number
    order[at] = order[swap] as number
    order[swap] = kept
  }
  for (const place of order) yield { kind: place % kinds, sample: Math.floor(place / kinds) }
}

function median(times: Float64Array): number {
  return times.toSorted()[times.length >> 1] ?? Number.NaN
}
