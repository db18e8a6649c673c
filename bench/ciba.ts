import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import type { BOND_STEPS, BondTask } from './bond-load-process.ts'
import { CLIENT_AUTHENTICATIONS, type ClientAuthentication } from './ciba-clients.ts'
import type { CIBA_STEPS, CibaTask } from './ciba-load-process.ts'
import { Child, median, type Ready } from './process.ts'

/**
 * Measures the server CPU microseconds of a bond's three calls (create, attest, get; durable). The
 * same run measures oidc-provider's CIBA flow (backchannel request, approval, token by polling;
 * in-memory adapter). A round sends each call for all its bonds before the next call, so that each
 * call has its own figure. A bond also needs evidence and a claim. The benchmark sends, measures
 * and prints those two calls, but the peer's flow has no counterpart. `--json` prints one document.
 */
const CALLERS = 16
/** V8 keeps compiling for thousands of flows. The benchmark measures the rounds after that. */
const WARM_UP_ROUNDS = 40
/** The peer's in-memory adapter keeps the last thousand entries, and a flow creates four. */
const FLOWS = 150
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 25)

const BOND: readonly (typeof BOND_STEPS)[number][] = [
  'create',
  'claim',
  'evidence',
  'attest',
  'get',
]
const CIBA: readonly (typeof CIBA_STEPS)[number][] = ['create', 'approve', 'token']
type Costs = Readonly<Record<string, number>>

// Both servers get the same flags, because a larger young generation favors the one that leaves
// more garbage.
using service = new Child('service-process.ts', RUNTIME_FLAGS)
const ready = await service.next<Ready>()
using peer = new Child('oidc-provider-process.ts', RUNTIME_FLAGS)
const peerReady = await peer.next<Ready>()
using load = new Child('bond-load-process.ts')
using peerLoad = new Child('ciba-load-process.ts')

for (let round = 0; round < WARM_UP_ROUNDS; round++) {
  await bond()
  for (const client of CLIENT_AUTHENTICATIONS) await ciba(client)
}
const rounds: { service: Costs; peers: Readonly<Record<ClientAuthentication, Costs>> }[] = []
for (let round = 0; round < ROUNDS; round++) {
  rounds.push({
    service: await bond(),
    peers: {
      client_secret_basic: await ciba('client_secret_basic'),
      private_key_jwt: await ciba('private_key_jwt'),
    },
  })
}

const threeCalls = ({ create = 0, attest = 0, get = 0 }: Costs) => create + attest + get
const allCalls = (costs: Costs) => Object.values(costs).reduce((sum, cost) => sum + cost, 0)
const middle = (figure: (round: (typeof rounds)[number]) => number) =>
  Math.round(median(rounds.map(figure)))
const ratio = (part: (costs: Costs) => number, client: ClientAuthentication) =>
  Math.round(
    median(rounds.map((round) => part(round.service) / allCalls(round.peers[client]))) * 100,
  ) / 100
const each = (steps: readonly string[], of: (round: (typeof rounds)[number]) => Costs) =>
  Object.fromEntries(steps.map((step) => [step, middle((round) => of(round)[step] ?? Number.NaN)]))

const figures = {
  callers: CALLERS,
  flows_a_round: FLOWS,
  rounds: ROUNDS,
  service_us: middle((round) => threeCalls(round.service)),
  service_with_claim_and_evidence_us: middle((round) => allCalls(round.service)),
  service_calls_us: each(BOND, (round) => round.service),
  peers: CLIENT_AUTHENTICATIONS.map((client) => ({
    client,
    flow_us: middle((round) => allCalls(round.peers[client])),
    calls_us: each(CIBA, (round) => round.peers[client]),
    ratio: ratio(threeCalls, client),
    ratio_with_claim_and_evidence: ratio(allCalls, client),
  })),
}
if (process.argv.includes('--json')) console.log(JSON.stringify({ ...figures, all: rounds }))
else {
  const list = (costs: Costs) =>
    Object.entries(costs)
      .map(([step, cost]) => `${step} ${cost}`)
      .join(', ')
  console.log(
    `server CPU a flow in µs, median of ${ROUNDS} rounds of ${FLOWS} at ${CALLERS} callers`,
  )
  console.log(
    `  service        create + attest + get ${figures.service_us}, durable; all five calls ${figures.service_with_claim_and_evidence_us}`,
  )
  console.log(`                 (${list(figures.service_calls_us)})`)
  for (const { client, flow_us, calls_us, ratio, ratio_with_claim_and_evidence } of figures.peers) {
    console.log(
      `  oidc-provider  ${flow_us} with ${client}, ES256, in memory   (${list(calls_us)})`,
    )
    console.log(
      `  ratio          ${ratio.toFixed(2)}; all five calls ${ratio_with_claim_and_evidence.toFixed(2)}   (median of the rounds' ratios)`,
    )
  }
}

async function bond(): Promise<Costs> {
  const costs: Record<string, number> = {}
  for (const step of BOND) {
    const task: BondTask = { ...ready, step, flows: FLOWS, callers: CALLERS }
    costs[step] = await cpuMicros(service, () => load.ask(task))
  }
  return costs
}

async function ciba(client: ClientAuthentication): Promise<Costs> {
  const costs: Record<string, number> = {}
  for (const step of CIBA) {
    const task: CibaTask = { ...peerReady, step, client, flows: FLOWS, callers: CALLERS }
    costs[step] = await cpuMicros(peer, () => peerLoad.ask(task))
  }
  return costs
}

async function cpuMicros(server: Child, work: () => Promise<unknown>): Promise<number> {
  const before = await server.ask<{ cpuMicros: number }>({})
  await work()
  const after = await server.ask<{ cpuMicros: number }>({})
  return (after.cpuMicros - before.cpuMicros) / FLOWS
}
