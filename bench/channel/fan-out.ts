import { cpus } from 'node:os'
import { RUNTIME_FLAGS } from '../../packages/service/bin/runtime-flags.js'
import { BenchPostgres } from '../postgres-nodes.ts'
import { Child, percentile, type Ready, type Usage } from '../process.ts'
import type { Attested, PhonesTask, Watched, WatchedSession, WatchTask } from './fan-out-task.ts'

/** Bonds a second. The first rate compiles the code, and is not reported. */
const RATES = (process.env.BENCH_RATES ?? '100,100,200,300,500').split(',').map(Number)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 10)
const MICROSECONDS_A_SECOND = 1e6

interface Wait {
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** One rate: milliseconds, and CPU time as a share of one core. */
interface FanOut {
  readonly rate: number
  readonly bondsPerSecond: number
  readonly sentToFrame: Wait
  readonly sentToReply: Wait
  readonly replyToFrame: Wait
  readonly lostFrames: number
  readonly shedCalls: number
  readonly cpu: { readonly nodes: readonly number[]; readonly database: number }
  /** Of all cores, by every process of the machine. */
  readonly busy: number
}

/**
 * Measures how long the frame of a bond takes to a channel of another node. All phones call the
 * first node, and all channels are on the last one. Sessions, channels and evidence exist before.
 */
export async function measureFanOut(nodes: number): Promise<readonly FanOut[]> {
  const database = await BenchPostgres.start()
  try {
    using cluster = await Cluster.start(database, nodes)
    const measured: FanOut[] = []
    for (const rate of RATES) measured.push(await cluster.round(rate))
    return measured.slice(1)
  } finally {
    await database.stop()
  }
}

export function printFanOut(rounds: readonly FanOut[]): void {
  const three = ({ p50, p99, max }: Wait) => [p50, p99, max].map((ms) => ms.toFixed(1)).join(' / ')
  const percent = (share: number) => `${Math.round(share * 100)} %`
  for (const round of rounds) {
    console.log(`${round.rate} bonds a second (${round.bondsPerSecond.toFixed(0)} reached)`)
    console.log(`  attestation sent to frame, ms      ${three(round.sentToFrame)}`)
    console.log(`  attestation sent to response, ms   ${three(round.sentToReply)}`)
    console.log(`  response to frame, ms              ${three(round.replyToFrame)}`)
    console.log(
      `  CPU of a core: nodes ${round.cpu.nodes.map(percent).join(', ')}, database ${percent(round.cpu.database)}; ` +
        `${cpus().length} cores ${percent(round.busy)} busy`,
    )
    if (round.lostFrames > 0) console.log(`  frames that never came: ${round.lostFrames}`)
    if (round.shedCalls > 0) console.log(`  calls that the service shed: ${round.shedCalls}`)
  }
  console.log('(50 % / 99 % / max)')
}

/** Nodes on one database, with a process of phones and one of channels. */
class Cluster implements Disposable {
  readonly #database: BenchPostgres
  readonly #nodes: readonly Child[]
  readonly #ready: readonly Ready[]
  readonly #phones = new Child('channel/fan-out-phones-process.ts')
  readonly #channels = new Child('channel/fan-out-watch-process.ts')

  private constructor(
    database: BenchPostgres,
    { nodes, ready }: { readonly nodes: readonly Child[]; readonly ready: readonly Ready[] },
  ) {
    this.#database = database
    this.#nodes = nodes
    this.#ready = ready
  }

  static async start(database: BenchPostgres, count: number): Promise<Cluster> {
    const nodes: Child[] = []
    const ready: Ready[] = []
    // One after the other: the first one creates the schema and the tenant.
    for (const environment of await database.environments(count)) {
      const node = new Child('service-process.ts', RUNTIME_FLAGS, environment)
      nodes.push(node)
      ready.push(await node.next<Ready>())
    }
    return new Cluster(database, { nodes, ready })
  }

  async round(rate: number): Promise<FanOut> {
    const { sessions } = await this.#askPhones<{ sessions: readonly WatchedSession[] }>(
      'prepare',
      rate,
    )
    await this.#askChannels('open', sessions)
    const before = await this.#used()
    const waiting = this.#askPhones<Attested>('bond', rate)
    const { sentAt, repliedAt, shed } = await waiting
    const after = await this.#used()
    const { framedAt } = await this.#askChannels('bonded', [])
    const seconds = (after.atMs - before.atMs) / 1_000
    const frames = framedAt.map((at) => at ?? Number.POSITIVE_INFINITY)
    return {
      rate,
      bondsPerSecond: sessions.length / ((Math.max(...repliedAt) - (sentAt[0] ?? 0)) / 1_000),
      sentToFrame: waitOf(frames.map((at, of) => at - (sentAt[of] as number))),
      sentToReply: waitOf(repliedAt.map((at, of) => at - (sentAt[of] as number))),
      replyToFrame: waitOf(frames.map((at, of) => at - (repliedAt[of] as number))),
      lostFrames: framedAt.filter((at) => at === null).length,
      shedCalls: shed,
      cpu: {
        nodes: after.nodes.map(
          (micros, at) =>
            (micros - (before.nodes[at] as number)) / (seconds * MICROSECONDS_A_SECOND),
        ),
        database: (after.database - before.database) / (seconds * MICROSECONDS_A_SECOND),
      },
      busy: 1 - (after.idleMs - before.idleMs) / (seconds * 1_000 * cpus().length),
    }
  }

  #askPhones<T>(step: PhonesTask['step'], rate: number): Promise<T> {
    return this.#phones.ask<T>({
      step,
      ports: this.#ready.map(({ port }) => port),
      credential: this.#ready[0]?.credential ?? '',
      sessions: rate * SECONDS,
      rate,
    } satisfies PhonesTask)
  }

  #askChannels(step: WatchTask['step'], sessions: readonly WatchedSession[]): Promise<Watched> {
    const port = this.#ready.at(-1)?.port ?? 0
    return this.#channels.ask<Watched>({ step, port, sessions } satisfies WatchTask)
  }

  async #used() {
    const nodes = await Promise.all(this.#nodes.map((node) => node.ask<Usage>({})))
    return {
      atMs: performance.now(),
      nodes: nodes.map(({ cpuMicros }) => cpuMicros),
      database: this.#database.cpuMicros(),
      idleMs: cpus().reduce((sum, { times }) => sum + times.idle, 0),
    }
  }

  [Symbol.dispose](): void {
    for (const child of [...this.#nodes, this.#phones, this.#channels]) child[Symbol.dispose]()
  }
}

function waitOf(ms: readonly number[]): Wait {
  return { p50: percentile(ms, 0.5), p99: percentile(ms, 0.99), max: percentile(ms, 1) }
}
