import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../../../tests/random.ts'
import { keyringOf } from '../../../src/adapters/keys/keyring.ts'
import { memoryLimiter } from '../../../src/adapters/limiter/memory-limiter.ts'
import { SharedPeers } from '../../../src/adapters/peers/shared-peers.ts'
import { type CountedLimit, parseLimits } from '../../../../core/src/domain/limits.ts'
import { type ExchangeResult, noMeter } from '../../../../core/src/ports/meter.ts'
import type { NodeMessage, NodeMessages } from '../../../../core/src/ports/peers.ts'
import { ROOT_KEY } from '../../../../../tests/harness/harness.ts'
import { TestClock } from '../../../../../tests/harness/test-clock.ts'

/** The table of messages, in memory. */
class Mailbox {
  readonly messages: (NodeMessage & { at: number })[] = []
  /** `lost`: the message is stored, but the node gets no response. */
  fault: 'none' | 'lost' | 'away' = 'none'
  readonly #clock: TestClock

  constructor(clock: TestClock) {
    this.#clock = clock
  }

  of(node: string): NodeMessages {
    let read = 0
    return {
      node,
      exchange: async ({ number, text }) => {
        if (this.fault === 'away') throw new Error('away')
        const at = this.#clock.now()
        if (!this.messages.some((sent) => sent.node === node && sent.number === number))
          this.messages.push({ node, number, text, at, ageMs: 0 })
        if (this.fault === 'lost') throw new Error('lost')
        const found = this.messages.slice(read).filter((sent) => sent.node !== node)
        read = this.messages.length
        return found.map((sent) => ({ ...sent, ageMs: at - sent.at }))
      },
    }
  }
}

const limitOf = (text: string): CountedLimit => {
  const [limit] = Object.values(parseLimits(text) ?? {})
  assert.ok(limit)
  return limit
}
/** 60 a minute, all of them at once if the bucket is full. */
const GET = limitOf('get=60/60')

function cluster(count: number, rootKeys = [ROOT_KEY]) {
  const clock = new TestClock()
  const mailbox = new Mailbox(clock)
  const results: ExchangeResult[] = []
  const meter = {
    ...noMeter,
    exchangedLimits: (result: ExchangeResult) => void results.push(result),
  }
  const nodes = Array.from({ length: count }, (_, index) => {
    const limiter = memoryLimiter(clock)
    const keys = keyringOf([rootKeys[index % rootKeys.length] ?? ROOT_KEY])
    const messages = mailbox.of(`node ${index}`)
    const peers = new SharedPeers({ messages, limiter, keys, clock, meter })
    const take = (calls: number, key = 'a', limit = GET) => {
      let granted = 0
      for (let call = 0; call < calls; call++) if (limiter.take([{ limit, key }]).granted) granted++
      return granted
    }
    return { limiter, peers, take, exchange: peers.exchange }
  })
  /** Twice, so that the first node also learns what the last one sent. */
  const exchangeAll = async () => {
    for (const node of [...nodes, ...nodes]) await node.exchange()
  }
  return { clock, mailbox, nodes, exchangeAll, results }
}
const two = async (rootKeys = [ROOT_KEY]) => {
  const made = cluster(2, rootKeys)
  await made.exchangeAll()
  const [a, b] = made.nodes
  assert.ok(a && b)
  return { ...made, a, b }
}

test('after an exchange, a node grants only what the others have left of a bucket', async () => {
  const { a, b, exchangeAll } = await two()
  assert.equal(a.take(45), 45)
  await exchangeAll()
  assert.equal(b.take(60), 15)
  assert.equal(b.take(60, 'another key'), 60)
})

test('an exchange says whether any node had something to say', async () => {
  const { a, b } = await two()
  assert.deepEqual([await a.exchange(), await b.exchange()], ['silent', 'silent'])
  a.take(45)
  assert.deepEqual([await a.exchange(), await b.exchange()], ['spoken', 'spoken'])
  assert.equal(await a.exchange(), 'silent')
})

test('before an exchange each node grants its bucket, and the excess is paid back first', async () => {
  const { clock, a, b, exchangeAll } = await two()
  assert.deepEqual([a.take(100), b.take(100)], [60, 60])
  await exchangeAll()
  // 120 units were granted; a bucket has 60, so the first further one comes a minute later.
  clock.advance(60_000)
  assert.deepEqual([a.take(5), b.take(5)], [0, 0])
  clock.advance(1_000)
  assert.equal(a.take(5), 1)
})

test('the wait that a rejected caller gets is the exact one, also for an excess', async () => {
  const { clock, a, b, exchangeAll } = await two()
  a.take(60)
  b.take(60)
  await exchangeAll()
  const { granted, waitMs } = a.limiter.peek([{ limit: GET, key: 'a' }])
  assert.equal(granted, false)
  clock.advance(waitMs - 1)
  assert.equal(a.take(1), 0)
  clock.advance(1)
  assert.equal(a.take(1), 1)
})

test('use of less than an eighth of a burst stays on its node and sends nothing', async () => {
  const { a, b, mailbox, exchangeAll } = await two()
  const size = () => mailbox.messages.at(-2)?.text.length
  await exchangeAll()
  const empty = size()
  assert.equal(a.take(7), 7)
  await exchangeAll()
  assert.equal(size(), empty)
  assert.equal(b.take(100), 60)
})

test('over any time, nodes grant at most N bursts and 1 + (N - 1) / 8 of the rate', async () => {
  const step = fc.record({
    node: fc.nat(2),
    calls: fc.integer({ min: 0, max: 20 }),
    ms: fc.nat(2_000),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 30, maxLength: 80 }), async (steps) => {
      const { clock, nodes, exchangeAll } = cluster(3)
      await exchangeAll()
      let [granted, elapsedMs] = [0, 0]
      for (const { node, calls, ms } of steps) {
        granted += nodes[node]?.take(calls) ?? 0
        for (let left = ms; left > 0; left -= 250) {
          clock.advance(Math.min(left, 250))
          for (const each of nodes) await each.exchange()
        }
        elapsedMs += ms
      }
      const most = 3 * 60 + (elapsedMs / 1_000) * (1 + 2 / 8)
      assert.ok(granted <= most, `${granted} of ${most} in ${elapsedMs} ms`)
    }),
    { numRuns: 8 },
  )
})

test('a sustained flood on three nodes gets little more than the rate of one', async () => {
  const { clock, nodes, exchangeAll } = cluster(3)
  await exchangeAll()
  let granted = 0
  for (let index = 0; index < 4 * 120; index++) {
    for (const node of nodes) granted += node.take(2)
    clock.advance(250)
    for (const node of nodes) await node.exchange()
  }
  // 120 s at 1 a second, after the bursts.
  assert.ok(granted <= 3 * 60 + 120 * 1.25, String(granted))
  assert.ok(granted >= 120, String(granted))
})

test('a failed exchange leaves each node to its own counters, and is repeated once', async () => {
  const { a, b, mailbox, exchangeAll, results } = await two()
  mailbox.fault = 'away'
  assert.equal(a.take(30), 30)
  results.length = 0
  await a.exchange()
  assert.deepEqual(results, ['no_database'])
  assert.equal(b.take(10), 10)
  mailbox.fault = 'lost'
  await a.exchange()
  mailbox.fault = 'none'
  await exchangeAll()
  // 30 of the first node arrive once, although they were sent three times.
  assert.equal(b.take(60), 20)
})

test('a message is unreadable in the database, and a node without its key counts alone', async () => {
  const { a, b, mailbox, exchangeAll, results } = await two([
    ROOT_KEY,
    { id: 'k2', bytes: new Uint8Array(32) },
  ])
  a.take(60, 'bwt_secret')
  results.length = 0
  await exchangeAll()
  assert.doesNotMatch(mailbox.messages.map(({ text }) => text).join(), /bwt_secret|get/)
  assert.ok(results.includes('failed'))
  assert.equal(b.take(60, 'bwt_secret'), 60)
  const forged = { ...mailbox.messages[0], node: 'x', number: 1, text: 'k1:AAAA', at: 0, ageMs: 0 }
  mailbox.messages.push(forged)
  await b.exchange()
})

test('a message is rejected and counted under another name or number, again, and when it is old', async () => {
  const { clock, mailbox, nodes, exchangeAll, results } = cluster(3)
  const [a, b, late] = nodes
  assert.ok(a && b && late)
  for (const node of [a, b, a]) await node.exchange()
  a.peers.join({ reported: () => [['network 192.0.2.1', 40]], closeExcess() {} })
  a.take(30)
  await a.exchange()
  const sent = mailbox.messages.at(-1)
  assert.ok(sent)
  await b.exchange()
  /** Writes a row as a user of the database, and reads it on a node. */
  const plant = async (row: Partial<NodeMessage>, reader = b) => {
    mailbox.messages.push({ ...sent, ...row, at: clock.now() })
    results.length = 0
    await reader.exchange()
    return results
  }
  const untouched = () => {
    assert.equal(b.peers.nodes, 2)
    assert.equal(b.peers.connectionsOf('network 192.0.2.1'), 40)
  }
  assert.deepEqual(await plant({}), ['failed'], 'again')
  assert.deepEqual(await plant({ number: sent.number + 1 }), ['failed'], 'another number')
  assert.deepEqual(await plant({ node: 'another' }), ['failed'], 'another name')
  assert.deepEqual(await plant({ node: 'node 1' }, a), ['failed'], 'the name of the reader')
  untouched()
  assert.equal(b.take(60), 30, 'the use of 30 counts once')

  // A node that has just started knows no number yet, so only the time shows that a row is old.
  clock.advance(30_001)
  mailbox.messages.splice(0)
  assert.deepEqual(await plant({}, late), ['failed'], 'an old row')
  assert.deepEqual([late.peers.nodes, late.peers.connectionsOf('network 192.0.2.1')], [1, 0])
  await exchangeAll()
  assert.equal(late.peers.nodes, 3)
})

test('use that a node could not send for 10 minutes counts on the others at its first exchange', async () => {
  const { clock, a, b, mailbox, exchangeAll } = await two()
  const limit = limitOf('get=1/30')
  mailbox.fault = 'away'
  assert.equal(a.take(40, 'slow', limit), 30)
  await a.exchange()
  clock.advance(600_000)
  mailbox.fault = 'none'
  await exchangeAll()
  assert.equal(b.take(40, 'slow', limit), 0)
})

test('connections of a node count for the others until it is silent for 5 s', async () => {
  const { clock, a, b, exchangeAll } = await two()
  let closed: string[] = []
  a.peers.join({ reported: () => [['network 192.0.2.1', 40]], closeExcess: () => {} })
  b.peers.join({ reported: () => [], closeExcess: (groups) => (closed = [...groups]) })
  await exchangeAll()
  assert.deepEqual([b.peers.nodes, b.peers.connectionsOf('network 192.0.2.1')], [2, 40])
  assert.deepEqual(closed, ['network 192.0.2.1'])
  clock.advance(5_001)
  await b.exchange()
  assert.deepEqual([b.peers.nodes, b.peers.connectionsOf('network 192.0.2.1')], [1, 0])
})

test('a message has at most 1,000 groups of connections, however many parts report them', async () => {
  const { nodes, exchangeAll } = cluster(2)
  const groupsOf = (part: string) =>
    Array.from({ length: 1_500 }, (_, index) => [`${part} ${index}`, 2] as const)
  for (const part of ['network', 'session'])
    nodes[0]?.peers.join({ reported: () => groupsOf(part), closeExcess() {} })
  await exchangeAll()
  const known = ['network', 'session']
    .flatMap(groupsOf)
    .filter(([group]) => nodes[1]?.peers.connectionsOf(group) === 2)
  assert.equal(known.length, 1_000)
})
