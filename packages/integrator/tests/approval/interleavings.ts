/** A step of an actor is what it does between two calls of `step`. */
export interface Actor {
  readonly name: string
  readonly run: (step: () => Promise<void>) => Promise<unknown>
}

/** An actor that stands before its next step, or has ended. */
interface Started {
  readonly name: string
  go: (() => void) | undefined
  /** Resolves when the actor stands before its next step, or has ended. */
  stopped: Promise<void>
  failure: unknown
}

function start({ name, run }: Actor): Started {
  let stop = () => {}
  const renew = () => new Promise<void>((resolve) => (stop = resolve))
  const actor: Started = { name, go: undefined, stopped: renew(), failure: undefined }
  const step = () =>
    new Promise<void>((resolve) => {
      actor.go = () => {
        actor.go = undefined
        actor.stopped = renew()
        resolve()
      }
      stop()
    })
  run(step).then(
    () => stop(),
    (error: unknown) => {
      actor.failure = error
      stop()
    },
  )
  return actor
}

/**
 * Runs a scene once for every order in which its actors can take their steps. Returns the orders.
 * `check` gets the order that was taken, when all actors have ended.
 */
export async function everyOrder(
  open: () => Promise<{
    readonly actors: readonly Actor[]
    readonly check: (order: string) => void | Promise<void>
  }>,
): Promise<number> {
  let orders = 0
  /** The choice at each step, and of how many. */
  const path: { choice: number; of: number }[] = []
  do {
    const { actors, check } = await open()
    const started = actors.map(start)
    const order: string[] = []
    for (let depth = 0; ; depth++) {
      await Promise.all(started.map(({ stopped }) => stopped))
      const ready = started.filter(({ go }) => go !== undefined)
      if (ready.length === 0) break
      path[depth] ??= { choice: 0, of: ready.length }
      const next = ready[path[depth]?.choice ?? 0]
      order.push(next?.name ?? '')
      next?.go?.()
    }
    for (const { failure } of started) if (failure !== undefined) throw failure
    await check(order.join(' '))
    orders++
    for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
      if (++last.choice < last.of) break
      path.pop()
    }
  } while (path.length > 0)
  return orders
}
