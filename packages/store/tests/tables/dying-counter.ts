import { openStore } from './total-scene.ts'

/** A process that counts sessions, and kills itself before or after the commit. */
const [step, database = '', now] = process.argv.slice(2)
const die = () => process.kill(process.pid, 'SIGKILL')

const store = await openStore(database, Number(now))
await store.write(function* ({ sessions, totals }) {
  yield* totals.count(Number(now), 1_000)
  // On PostgreSQL the answer to a read comes after those to the statements before it.
  yield* sessions.latest()
  if (step === 'counted') die()
})
die()
