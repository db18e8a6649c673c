import { setTimeout as pause } from 'node:timers/promises'
import type { Usage } from '../process.ts'
import { Side } from './side.ts'
import type { Sizes } from './task.ts'

/** A quarter is open at the first reading. It fills the heap space of a fresh process. */
const SHARE_BEFORE = 0.25
/** Time for the work that an opened or closed socket defers to later turns of the event loop. */
const SETTLE_MS = 500
/** Several heartbeats of each channel. */
const HEARTBEATS_MS = 15_000
const CHANNELS_A_LOAD = 5_000
const MICROSECONDS_A_SECOND = 1e6

/** What an idle channel costs the server. */
export interface Idle {
  readonly rssBytes: number
  readonly heapBytes: number
  /** Of all channels, each second. */
  readonly framesPerSecond: number
  readonly frameBytes: number
  /** Of one core, with all channels open. */
  readonly cpuShare: number
}

/**
 * Measures the memory of each additional idle channel, and the CPU time of the frames that idle
 * channels get. Uses fresh processes, because a process reuses memory that it released and so hides
 * what it needs.
 *
 * @param of.sizes for bare ws, the sizes of its messages
 * @param of.heartbeatBytes for bare ws, the size of the frames that it sends
 */
export async function measureIdle(of: {
  readonly channels: number
  readonly sizes?: Sizes
  readonly heartbeatBytes?: number
}): Promise<Idle> {
  const { channels, sizes, heartbeatBytes } = of
  const name = sizes === undefined ? 'service' : 'bare'
  using side = new Side(name, { sizes, loads: Math.ceil(channels / CHANNELS_A_LOAD) })
  if (!side.isBare) await side.ask('sessions', channels)
  const openBefore = Math.floor(channels * SHARE_BEFORE)
  await side.ask('open', openBefore)
  const before = await settled(side)
  await side.ask('open', channels)
  const after = await settled(side)
  if (heartbeatBytes !== undefined) await side.startHeartbeats(heartbeatBytes)
  return {
    rssBytes: (after.rssBytes - before.rssBytes) / (channels - openBefore),
    heapBytes: (after.heapBytes - before.heapBytes) / (channels - openBefore),
    ...(await heartbeats(side)),
  }
}

/** The memory in use after garbage collection. */
async function settled(side: Side): Promise<Usage> {
  await pause(SETTLE_MS)
  await side.usage({ collect: true })
  await pause(SETTLE_MS)
  return side.usage({ collect: true })
}

async function heartbeats(
  side: Side,
): Promise<Pick<Idle, 'framesPerSecond' | 'frameBytes' | 'cpuShare'>> {
  await pause(HEARTBEATS_MS / 2)
  await side.frames()
  const from = performance.now()
  const before = await side.usage()
  await pause(HEARTBEATS_MS)
  const after = await side.usage()
  const { frames, bytes } = await side.frames()
  const seconds = (performance.now() - from) / 1_000
  return {
    framesPerSecond: frames / seconds,
    frameBytes: bytes / Math.max(1, frames),
    cpuShare: (after.cpuMicros - before.cpuMicros) / (seconds * MICROSECONDS_A_SECOND),
  }
}
