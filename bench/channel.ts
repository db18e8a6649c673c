import { setTimeout as pause } from 'node:timers/promises'
import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import type { Bonded, ChannelTask, Sizes } from './channel-load-process.ts'
import { Child, median, percentile, type Ready, type Usage, type UsageQuestion } from './process.ts'

/**
 * Measures the memory of an idle channel in the server, and how long the frame of a bond takes when
 * a thousand sessions bond within a second. Bare ws with frames of the same sizes runs in the same
 * benchmark. The sessions exist before the channels, so their memory is not counted. The server
 * collects garbage before each reading. `--json` prints one document.
 */
const CHANNELS = Number(process.env.BENCH_CHANNELS ?? 5_000)
/**
 * Channels opened before the first reading. They fill the heap space that a fresh process has to
 * spare.
 */
const CHANNELS_BEFORE = CHANNELS / 2
const BONDS = 1_000
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
/** Time for the work that an opened or closed socket defers to later turns of the event loop. */
const SETTLE_MS = 500
const BYTES_A_KIB = 1_024
const SERVERS = { service: 'service-process.ts', bare: 'bare-channel-process.ts' } as const

/** A server, and the process that loads it. */
class Side implements Disposable {
  readonly #server: Child
  readonly #load = new Child('channel-load-process.ts')
  readonly #sizes: Sizes | undefined
  #ready: Ready | undefined

  /** @param sizes the sizes that bare ws sends; absent for the service */
  constructor(server: keyof typeof SERVERS, sizes?: Sizes) {
    this.#server = new Child(SERVERS[server], ['--expose-gc', ...RUNTIME_FLAGS])
    this.#sizes = sizes
  }

  async ask<T>(step: ChannelTask['step'], channels: number): Promise<T> {
    const { port, credential } = (this.#ready ??= await this.#server.next<Ready>())
    return this.#load.ask<T>({
      port,
      credential,
      step,
      channels,
      ...(this.#sizes ? { sizes: this.#sizes } : {}),
    } satisfies ChannelTask)
  }

  async bondRound(): Promise<Bonded> {
    if (this.#sizes === undefined) await this.ask('prepare', BONDS)
    await this.ask('open', BONDS)
    const bonded = await this.ask<Bonded>('bond', BONDS)
    await this.ask('close', BONDS)
    return bonded
  }

  /** Measures the memory of each additional idle channel. */
  async idle(): Promise<Memory> {
    if (this.#sizes === undefined) await this.ask('sessions', CHANNELS_BEFORE + CHANNELS)
    await this.ask('open', CHANNELS_BEFORE)
    const before = await this.#look()
    await this.ask('open', CHANNELS_BEFORE + CHANNELS)
    const after = await this.#look()
    return {
      rssBytes: (after.rssBytes - before.rssBytes) / CHANNELS,
      heapBytes: (after.heapBytes - before.heapBytes) / CHANNELS,
    }
  }

  async #look(): Promise<Usage> {
    await pause(SETTLE_MS)
    await this.#server.ask<Usage>({ collect: true } satisfies UsageQuestion)
    await pause(SETTLE_MS)
    return this.#server.ask<Usage>({ collect: true } satisfies UsageQuestion)
  }

  [Symbol.dispose](): void {
    this.#server[Symbol.dispose]()
    this.#load[Symbol.dispose]()
  }
}

interface Memory {
  readonly rssBytes: number
  readonly heapBytes: number
}

const bonds: { service: Bonded; bare: Bonded }[] = []
using service = new Side('service')
// The first round warms up and reports the sizes of the messages.
const { sizes } = await service.bondRound()
using bare = new Side('bare', sizes)
await bare.bondRound()
for (let round = 0; round < ROUNDS; round++)
  bonds.push({ service: await service.bondRound(), bare: await bare.bondRound() })

const memory: { service: Memory; bare: Memory }[] = []
for (let round = 0; round < ROUNDS; round++) {
  // Each run uses fresh processes, because a process reuses memory that it released and so hides
  // what it needs.
  using freshService = new Side('service')
  using freshBare = new Side('bare', sizes)
  memory.push({ service: await freshService.idle(), bare: await freshBare.idle() })
}

const kib = (of: 'service' | 'bare', figure: keyof Memory) =>
  tenths(median(memory.map((round) => round[of][figure])) / BYTES_A_KIB)
const wait = (of: 'service' | 'bare', figure: (bonded: Bonded) => readonly number[]) => ({
  p50: tenths(median(bonds.map((round) => percentile(figure(round[of]), 0.5)))),
  p99: tenths(median(bonds.map((round) => percentile(figure(round[of]), 0.99)))),
  max: tenths(median(bonds.map((round) => Math.max(...figure(round[of]))))),
})
const sent = ({ frameMs }: Bonded) => frameMs
const afterReply = ({ frameMs, replyMs }: Bonded) =>
  frameMs.map((frame, at) => frame - (replyMs[at] ?? Number.NaN))
const side = (of: 'service' | 'bare') => ({
  idle_rss_kib: kib(of, 'rssBytes'),
  idle_heap_kib: kib(of, 'heapBytes'),
  sent_to_frame_ms: wait(of, sent),
  reply_to_frame_ms: wait(of, afterReply),
})
const figures = {
  channels: CHANNELS,
  bonds_in_a_second: BONDS,
  rounds: ROUNDS,
  sizes,
  service: side('service'),
  bare: side('bare'),
}

if (process.argv.includes('--json')) console.log(JSON.stringify({ ...figures, all: { memory } }))
else {
  const row = (name: string, of: (figuresOf: ReturnType<typeof side>) => string) =>
    console.log(
      `${name.padEnd(44)}${of(figures.service).padStart(20)}${of(figures.bare).padStart(20)}`,
    )
  const three = ({ p50, p99, max }: { p50: number; p99: number; max: number }) =>
    `${p50} / ${p99} / ${max}`
  console.log(
    `medians of ${ROUNDS} rounds${' '.repeat(30)}             service             bare ws`,
  )
  row(`an idle channel, resident, KiB (${CHANNELS} open)`, ({ idle_rss_kib }) =>
    String(idle_rss_kib),
  )
  row('an idle channel, heap, KiB', ({ idle_heap_kib }) => String(idle_heap_kib))
  row(`${BONDS} bonds in a second: sent to frame, ms`, ({ sent_to_frame_ms }) =>
    three(sent_to_frame_ms),
  )
  row('  reply to frame, ms (below 0: frame first)', ({ reply_to_frame_ms }) =>
    three(reply_to_frame_ms),
  )
  console.log('  (50 % / 99 % / longest; the bare one verifies and stores nothing)')
}

function tenths(figure: number): number {
  return Math.round(figure * 10) / 10
}
