import { availableParallelism } from 'node:os'
import { hasMaude, type Search, search } from './protocol/maude.ts'
import { FAULTS, possible, proofs, redundant, WITHOUT } from './protocol/searches.ts'

/**
 * `npm run prove:protocol`: searches the symbolic models in `proofs/models`, prints a line for
 * each search, and fails if one ends otherwise than expected. `--sessions 2` is the short form.
 */
const [option, given] = process.argv.slice(2)
const sessions = option === '--sessions' ? Number(given) : 3
if (![2, 3].includes(sessions)) throw new Error('use --sessions 2 or --sessions 3')
if (!hasMaude()) throw new Error('no maude (apt-get install maude)')

const from = performance.now()
let hasFailed = false
await section('Possible: these runs must exist', possible())
await section('Without a part: an attack must be found', WITHOUT)
await section(
  'Planted faults: an attack must be found',
  FAULTS.map((fault) => ({ ...fault, name: `rule ${fault.rule}: ${fault.name}` })),
)
await section(
  'Removed checks that others make up for: nothing may be found',
  redundant(sessions - 1),
)
await section('The protocol as designed: nothing may be found', proofs(sessions))
console.log(`\n${Math.round((performance.now() - from) / 1000)} s, up to ${sessions} sessions`)
process.exitCode = hasFailed ? 1 : 0

async function section(title: string, searches: readonly Search[]): Promise<void> {
  console.log(`\n${title}`)
  const waiting = [...searches]
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await report(next)
  }
  await Promise.all(Array.from({ length: Math.min(2, availableParallelism()) }, work))
}

async function report(asked: Search): Promise<void> {
  const { found, states, seconds, moves } = await search(asked)
  const isExpected = found === (asked.expected === 'found')
  hasFailed ||= !isExpected
  console.log(
    `${isExpected ? 'ok' : 'NOT EXPECTED'}  ${asked.name}: ${found ? (await moves()).join(', ') : 'nothing'}` +
      ` (${states.toLocaleString('en')} states, ${seconds.toFixed(1)} s)`,
  )
}
