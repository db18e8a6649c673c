import { RUNTIME_FLAGS } from '../../packages/service/bin/runtime-flags.js'
import { send } from '../http-calls.ts'
import { Child, type Ready, type Usage, type UsageQuestion } from '../process.ts'
import { type Bonded, type ChannelTask, type FrameCount, HEARTBEATS, type Sizes } from './task.ts'

const SERVERS = { service: 'service-process.ts', bare: 'channel/bare-process.ts' } as const

/** A server, and the processes that load it. */
export class Side implements Disposable {
  readonly #server: Child
  readonly #loads: readonly Child[]
  readonly #sizes: Sizes | undefined
  #ready: Ready | undefined

  /**
   * @param of.sizes the sizes that bare ws sends; absent for the service
   * @param of.loads how many processes share the channels; by default one
   */
  constructor(
    server: keyof typeof SERVERS,
    { sizes, loads = 1 }: { readonly sizes?: Sizes | undefined; readonly loads?: number } = {},
  ) {
    this.#server = new Child(SERVERS[server], ['--expose-gc', ...RUNTIME_FLAGS])
    this.#loads = Array.from({ length: loads }, () => new Child('channel/load-process.ts'))
    this.#sizes = sizes
  }

  get isBare(): boolean {
    return this.#sizes !== undefined
  }

  /** Lets each load process do the step for its share of the channels. */
  async ask<T>(step: ChannelTask['step'], channels: number): Promise<readonly T[]> {
    const { port, credential } = await this.#started()
    const share = Math.ceil(channels / this.#loads.length)
    return Promise.all(
      this.#loads.map((load, at) =>
        load.ask<T>({
          port,
          credential,
          step,
          channels: Math.min(share, channels - at * share),
          source: `127.0.0.${at + 2}`,
          ...(this.#sizes ? { sizes: this.#sizes } : {}),
        } satisfies ChannelTask),
      ),
    )
  }

  /** A thousand bonds within a second, by one load process, and the server's CPU time for them. */
  async bondRound(bonds: number): Promise<Bonded & { readonly cpuMicros: number }> {
    if (!this.isBare) await this.ask('prepare', bonds)
    await this.ask('open', bonds)
    const before = await this.usage()
    const [bonded] = await this.ask<Bonded>('bond', bonds)
    const { cpuMicros } = await this.usage()
    await this.ask('close', bonds)
    return { ...(bonded as Bonded), cpuMicros: cpuMicros - before.cpuMicros }
  }

  /** The frames on all channels since the last count. */
  async frames(): Promise<FrameCount> {
    const counts = await this.ask<FrameCount>('frames', 0)
    return {
      frames: counts.reduce((sum, { frames }) => sum + frames, 0),
      bytes: counts.reduce((sum, { bytes }) => sum + bytes, 0),
    }
  }

  /** Makes bare ws send frames of this size at the service's interval. */
  async startHeartbeats(bytes: number): Promise<void> {
    const { port } = await this.#started()
    await send({ port, method: 'POST', path: `${HEARTBEATS}?${Math.round(bytes)}?0` })
  }

  usage(question: UsageQuestion = {}): Promise<Usage> {
    return this.#server.ask<Usage>(question)
  }

  async #started(): Promise<Ready> {
    return (this.#ready ??= await this.#server.next<Ready>())
  }

  [Symbol.dispose](): void {
    this.#server[Symbol.dispose]()
    for (const load of this.#loads) load[Symbol.dispose]()
  }
}
