import { RUNTIME_FLAGS } from '../packages/service/bin/runtime-flags.js'
import { CLIENT_AUTHENTICATIONS, type ClientAuthentication } from './ciba-clients.ts'
import type { BOND_STEPS } from './bond-load-process.ts'
import type { CIBA_STEPS } from './ciba-load-process.ts'
import { Child, median, type Ready, type Usage } from './process.ts'

/**
 * Measures the server CPU microseconds of a bond's three calls (create, attest, get; durable). The
 * same run measures oidc-provider's CIBA flow (backchannel request, approval, token by polling;
 * in-memory adapter). A round sends each call for all its bonds before the next call, so that each
 * call has its own figure. A bond also needs evidence and a claim. The benchmark sends, measures
 * and prints those two calls, but the peer's flow has no counterpart. `--json` prints one document.
 */
const BOND: readonly (typeof BOND_STEPS)[number][] = [
  'create',
  'claim',
  'evidence',
  'attest',
  'get',
]
const CIBA: readonly (typeof CIBA_STEPS)[number][] = ['create', 'approve', 'token']
const CALLERS = 16
/** The peer's in-memory adapter keeps the last thousand entries, and a flow creates four. */
const FLOWS = 150
/** V8 keeps compiling for thousands of flows. The benchmark measures the rounds after that. */
const WARM_UP_ROUNDS = 40
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 25)

// Both servers get the same flags, because a larger young generation favors the one that leaves
// more garbage.
using service = new Child('service-process.ts', RUNTIME_FLAGS)
using peer = new Child('oidc-provider-process.ts', RUNTIME_FLAGS)
using bonds = new Child('bond-load-process.ts')
using flows = new Child('ciba-load-process.ts')
const serviceReady = await service.next<Ready>()
const peerReady = await peer.next<Ready>()
const bond = () => costsOf(BOND, { server: service, load: bonds, task: serviceReady })
const ciba = (client: ClientAuthentication) =>
  costsOf(CIBA, { server: peer, load: flows, task: { ...peerReady, client } })

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

const middle = (figure: (round: (typeof rounds)[number]) => number) =>
  Math.round(median(rounds.map(figure)))
const ratio = (part: (costs: Costs) => number, client: ClientAuthentication) =>
  Math.round(
    median(rounds.map((round) => part(round.service) / allCalls(round.peers[client]))) * 100,
  ) / 100
const each = (steps: readonly string[], of: (round: (typeof rounds)[number]) => Costs) =>
  Object.fromEntries(steps.map((step) => [step, middle((round) => of(round)[step] ?? Number.NaN)]))

const figures = {
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
  console.log(`server CPU a flow in µs, median of ${ROUNDS} rounds of ${FLOWS} at 16 callers`)
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

/** The CPU time of each call, in microseconds a flow. */
type Costs = Readonly<Record<string, number>>

/** Sends one call of all flows before the next call, so that each call has its own figure. */
async function costsOf(
  steps: readonly string[],
  { server, load, task }: { server: Child; load: Child; task: object },
): Promise<Costs> {
  const costs: Record<string, number> = {}
  for (const step of steps) {
    const before = await server.ask<Usage>({})
    await load.ask({ ...task, step, flows: FLOWS, callers: CALLERS })
    const after = await server.ask<Usage>({})
    costs[step] = (after.cpuMicros - before.cpuMicros) / FLOWS
  }
  return costs
}

/** The cost of the three calls that a bond and a CIBA flow have in common. */
function threeCalls({ create = 0, attest = 0, get = 0 }: Costs): number {
  return create + attest + get
}

/** The cost of all calls of a flow. */
function allCalls(costs: Costs): number {
  return Object.values(costs).reduce((sum, cost) => sum + cost, 0)
}
