import { median } from '../process.ts'

/** CPU microseconds a call, of this thread. */
export function cpuMicros(work: () => unknown, calls: number): number {
  const before = process.threadCpuUsage()
  for (let call = 0; call < calls; call++) work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / calls
}

/** Work that goes on on other threads too. */
export interface OffLoop {
  readonly name: string
  /** How long whoever asked for it waits. */
  readonly us: number
  /** How much of it every other request waits for as well. */
  readonly loop_us: number
}

/** One call after the other, so that none waits for its turn. */
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
