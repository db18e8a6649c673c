/** The wait before the first probe, and the longest wait between two. */
const FIRST_DELAY_MS = 2_000
const LONGEST_DELAY_MS = 15_000
/** Some minutes: longer than a session lives. The button of the screen still works. */
const MAX_PROBES = 60

/** Waits for the end of an outage. */
export interface Recovery {
  /** Probes until one succeeds, then acts once. Ends an earlier wait. */
  await(act: () => void): void
  /** Probes now: the browser says that it is connected, or the user is back. */
  hurry(): void
  stop(): void
}

export interface RecoveryDependencies {
  /** Whether the service responds. */
  readonly probe: () => Promise<boolean>
  /** Acts after a delay in milliseconds. Returns a function that cancels it. */
  readonly schedule: (delayMs: number, act: () => void) => () => void
  /** A number from 0 to 1, which spreads the probes of many phones after an outage. */
  readonly random: () => number
}

/** Creates a recovery. The delay between two probes doubles. */
export function createRecovery({ probe, schedule, random }: RecoveryDependencies): Recovery {
  let stop: () => void = () => {}
  let hurry: () => void = () => {}
  return {
    await(act) {
      stop()
      let isOver = false
      let isProbing = false
      let probes = 0
      let cancel: () => void = () => {}
      const check = async () => {
        if (isOver || isProbing) return
        cancel()
        isProbing = true
        probes++
        const isBack = await probe()
        isProbing = false
        if (isOver) return
        if (!isBack) return wait()
        isOver = true
        act()
      }
      const wait = () => {
        if (probes >= MAX_PROBES) return
        const delayMs = Math.min(FIRST_DELAY_MS * 2 ** probes, LONGEST_DELAY_MS)
        cancel = schedule(delayMs * (0.5 + random() / 2), () => void check())
      }
      hurry = () => void check()
      stop = () => {
        isOver = true
        cancel()
      }
      wait()
    },
    hurry: () => hurry(),
    stop: () => stop(),
  }
}
