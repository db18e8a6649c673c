import { setTimeout as pause } from 'node:timers/promises'
import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import type { Bonded, ChannelTask, Sizes } from './channel-load-process.ts'
import { Child, median, type Ready, type Usage, type UsageQuestion } from './process.ts'

/**
 * What an idle channel holds in the server's memory, and how long the frame of a bond takes when a thousand sessions
 * bond within a second; beside bare ws in the same run, with frames of the same sizes. The sessions are there before
 * the channels, so they are not counted, and garbage is collected before each look. `--json` prints one document.
 */
const CHANNELS = Number(process.env.BENCH_CHANNELS ?? 5_000)
const BONDS = 1_000
const ROUNDS = 5
/** For what a closed socket leaves to the next turns of the loop. */
const SETTLE_MS = 500
const BYTES_A_KIB = 1_024

const FLAGS = ['--expose-gc', ...RUNTIME_FLAGS]
using service = new Child('service-process.ts', FLAGS)
const ready = await service.next<Ready>()
using bare = new Child('bare-channel-process.ts', FLAGS)
const bareReady = await bare.next<Ready>()
using load = new Child('channel-load-process.ts')
using bareLoad = new Child('channel-load-process.ts')

interface Side {
  readonly server: Child
  readonly generator: Child
  readonly ready: Ready
  readonly sizes?: Sizes
}
const ours: Side = { server: service, generator: load, ready }

// The first round warms up, and says how long what is sent is.
const { sizes } = await bondRound(ours)
const peers: Side = { server: bare, generator: bareLoad, ready: bareReady, sizes }
await bondRound(peers)
await ask(ours, 'sessions', CHANNELS)
await idle(ours)
await idle(peers)

const memory: { service: Memory; bare: Memory }[] = []
for (let round = 0; round < ROUNDS; round++) memory.push({ service: await idle(ours), bare: await idle(peers) })
const bonds: { service: Bonded; bare: Bonded }[] = []
for (let round = 0; round < ROUNDS; round++) bonds.push({ service: await bondRound(ours), bare: await bondRound(peers) })

const kib = (of: 'service' | 'bare', figure: keyof Memory) => tenths(median(memory.map((round) => round[of][figure])) / BYTES_A_KIB)
const wait = (of: 'service' | 'bare', figure: (bonded: Bonded) => readonly number[]) => ({
  p50: tenths(median(bonds.map((round) => percentile(figure(round[of]), 0.5)))),
  p99: tenths(median(bonds.map((round) => percentile(figure(round[of]), 0.99)))),
  max: tenths(median(bonds.map((round) => Math.max(...figure(round[of]))))),
})
const sent = ({ frameMs }: Bonded) => frameMs
const afterReply = ({ frameMs, replyMs }: Bonded) => frameMs.map((frame, at) => frame - (replyMs[at] ?? Number.NaN))
const side = (of: 'service' | 'bare') => ({
  idle_rss_kib: kib(of, 'rssBytes'),
  idle_heap_kib: kib(of, 'heapBytes'),
  sent_to_frame_ms: wait(of, sent),
  reply_to_frame_ms: wait(of, afterReply),
})
const figures = { channels: CHANNELS, bonds_in_a_second: BONDS, rounds: ROUNDS, sizes, service: side('service'), bare: side('bare') }

if (process.argv.includes('--json')) console.log(JSON.stringify({ ...figures, all: { memory } }))
else {
  const row = (name: string, of: (figuresOf: ReturnType<typeof side>) => string) =>
    console.log(`${name.padEnd(44)}${of(figures.service).padStart(20)}${of(figures.bare).padStart(20)}`)
  const three = ({ p50, p99, max }: { p50: number; p99: number; max: number }) => `${p50} / ${p99} / ${max}`
  console.log(`medians of ${ROUNDS} rounds${' '.repeat(30)}             service             bare ws`)
  row(`an idle channel, resident, KiB (${CHANNELS} open)`, ({ idle_rss_kib }) => String(idle_rss_kib))
  row('an idle channel, heap, KiB', ({ idle_heap_kib }) => String(idle_heap_kib))
  row(`${BONDS} bonds in a second: sent to frame, ms`, ({ sent_to_frame_ms }) => three(sent_to_frame_ms))
  row('  reply to frame, ms (below 0: frame first)', ({ reply_to_frame_ms }) => three(reply_to_frame_ms))
  console.log('  (50 % / 99 % / longest; the bare one verifies and stores nothing)')
}

interface Memory {
  readonly rssBytes: number
  readonly heapBytes: number
}

/** What each channel holds, once it is open and nothing happens. */
async function idle(of: Side): Promise<Memory> {
  const before = await look(of.server)
  await ask(of, 'open', CHANNELS)
  const after = await look(of.server)
  await ask(of, 'close', CHANNELS)
  return {
    rssBytes: (after.rssBytes - before.rssBytes) / CHANNELS,
    heapBytes: (after.heapBytes - before.heapBytes) / CHANNELS,
  }
}

async function look(server: Child): Promise<Usage> {
  await pause(SETTLE_MS)
  await server.ask<Usage>({ collect: true } satisfies UsageQuestion)
  await pause(SETTLE_MS)
  return server.ask<Usage>({ collect: true } satisfies UsageQuestion)
}

async function bondRound(of: Side): Promise<Bonded> {
  if (of.sizes === undefined) await ask(of, 'prepare', BONDS)
  await ask(of, 'open', BONDS)
  const bonded = await ask<Bonded>(of, 'bond', BONDS)
  await ask(of, 'close', BONDS)
  return bonded
}

function ask<T>({ generator, ready: { port, credential }, sizes }: Side, step: ChannelTask['step'], channels: number): Promise<T> {
  return generator.ask<T>({ port, credential, step, channels, ...(sizes ? { sizes } : {}) } satisfies ChannelTask)
}

function percentile(figuresOf: readonly number[], share: number): number {
  const sorted = [...figuresOf].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

function tenths(figure: number): number {
  return Math.round(figure * 10) / 10
}
