import { systemClock } from '../../packages/store/src/clock/system-clock.ts'
import type { Store } from '../../packages/core/src/ports/store.ts'
import { run } from './running.ts'

/**
 * Where the process kills itself, and at which write after the parent's start message. Without a
 * fault it waits for the parent's kill.
 */
export interface Fault {
  readonly between: 'write and commit' | 'commit and reply'
  readonly atWrite: number
}

let writes = Number.NaN
process.once('message', () => {
  writes = 0
})

/** Wraps the store with a planted crash. The service uses it like any other store. */
function dying(store: Store, fault: Fault): Store {
  const die = () => process.kill(process.pid, 'SIGKILL')
  return {
    async write(unit) {
      writes += 1
      const mine = writes === fault.atWrite
      const value = await store.write(function* (tables) {
        const done = yield* unit(tables)
        if (mine && fault.between === 'write and commit') die()
        return done
      })
      if (mine && fault.between === 'commit and reply') die()
      return value
    },
    read: (unit) => store.read(unit),
    newSessionId: (at, random) => store.newSessionId(at, random),
    during: (cause) => dying(store.during(cause), fault),
    hasClock: store.hasClock,
    health: () => store.health(),
    externalChanges: () => store.externalChanges(),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  }
}

const { databaseFile, fault } = JSON.parse(process.argv[2] ?? '{}') as {
  databaseFile: string
  fault?: Fault
}
const running = await run({
  databaseFile,
  clock: systemClock,
  ...(fault ? { rewire: (service) => ({ ...service, store: dying(service.store, fault) }) } : {}),
})
process.on('disconnect', () => process.exit())
process.send?.(running.port)
