import { median } from '../process.ts'

/** CPU microseconds per call, of this thread. */
export function cpuMicros(work: () => unknown, calls: number): number {
  const before = process.threadCpuUsage()
  for (let call = 0; call < calls; call++) work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / calls
}

/** Work that also runs on other threads. */
export interface OffLoop {
  readonly name: string
  /** How long the caller waits. */
  readonly us: number
  /** How much of that time blocks the event loop, and so every other request. */
  readonly loop_us: number
}

/** One call after the other, so that none queues. */
export async function timeOffLoop(
  name: string,
  calls: number,
  work: () => Promise<{ readonly ok: boolean }>,
): Promise<OffLoop> {
  const whole: number[] = []
  const loop: number[] = []
  for (let call = 0; call < calls; call++) {
    const from = performance.now()
    const busy = process.threadCpuUsage()
    const result = await work()
    const { user, system } = process.threadCpuUsage(busy)
    whole.push((performance.now() - from) * 1_000)
    loop.push(user + system)
    if (!result.ok) throw new Error(`${name}: does not verify`)
  }
  return { name, us: median(whole), loop_us: median(loop) }
}
