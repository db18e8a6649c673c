import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { CreatedSession, FullSession } from '@bonded/contract'
import { createSimulatedPhone, type SimulatedPhone } from '@bonded/simulator'
import { type Cluster, startCluster } from '../harness/cluster.ts'
import { until } from '../harness/process.ts'
import type { Scenario } from './fault-scenarios.ts'

/** The origin that phones sign. Requests for it go to a node. */
const ORIGIN = 'http://localhost:1'
const RECOVERS_WITHIN_MS = 60_000
/** Above every limit of the service, so that only a paused node exceeds it. */
const RESPONDS_WITHIN_MS = 20_000
const PROBE_EVERY_MS = 200

/** Checks that the guide lists the faults with the observation that their tests require. */
export function checkGuide(scenarios: readonly Scenario[]): void {
  const path = resolve(import.meta.dirname, '../../docs/guides/durability.md')
  const guide = readFileSync(path, 'utf8')
  for (const { name, during } of scenarios)
    assert.ok(guide.includes(`| ${name} | ${during}`), `${name} | ${during}`)
}

/** What a test of a scenario shows. */
export const testName = ({ name, during }: Scenario): string =>
  `${name}: the node ${during}, loses nothing, and recovers by itself`

/** Starts the nodes of a scenario, and proves it. */
export async function runScenario(scenario: Scenario, t: TestContext): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'bonded-faults-'))
  // The account of PostgreSQL reads here whether it is to fail.
  chmodSync(folder, 0o755)
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const skipped = scenario.skip?.(folder) ?? false
  if (skipped !== false) return t.skip(skipped)
  t.after(() => scenario.dispose?.())
  const { store, nodes } = scenario
  await using cluster = await startCluster({
    store,
    nodes,
    envOfFirst: scenario.env?.(folder) ?? {},
    postgresOptions: scenario.postgres?.(folder),
  })
  await proveFault(scenario, { cluster, folder })
}

/**
 * Breaks the first node, and checks its responses meanwhile. Afterwards it must work again by
 * itself, and every session that it has acknowledged must be as it was.
 *
 * @param folder contains the files that steer the fault
 */
async function proveFault(
  scenario: Scenario,
  { cluster, folder }: { cluster: Cluster; folder: string },
): Promise<void> {
  const tenant = await Tenant.create(cluster)
  const before = {
    completed: await tenant.complete(await tenant.bond(await tenant.create())),
    bonded: await tenant.bond(await tenant.create()),
    pending: await tenant.create(),
  }
  await scenario.begin(cluster, folder)
  const observed = await tenant.probe(scenario)
  await scenario.end(cluster, folder)
  if (scenario.during === 'works') assert.ok(observed.created > 0, 'new sessions during the fault')
  if (scenario.during === 'answers 503') {
    assert.ok(observed.rejected > 0, 'calls were rejected')
    assert.ok(observed.unready > 0, 'load balancers saw that the node was not ready')
  }
  if (scenario.during === 'does not answer') assert.ok(observed.withoutResponse > 0, 'no answers')

  await until(() => tenant.works(), RECOVERS_WITHIN_MS)
  // Alone, a node cannot know which of its clock's times was right.
  if (scenario.endsSessions !== true)
    await until(async () => (await tenant.isReady()) || undefined, RECOVERS_WITHIN_MS)
  for (const { origin } of cluster.nodes.slice(1))
    assert.equal(await isReady(origin), true, 'the other nodes are ready')
  for (const created of [...observed.sessions, before.completed, before.bonded, before.pending])
    assert.equal((await tenant.read(created)).id, created.id, 'an acknowledged session is stored')
  assert.equal((await tenant.read(before.completed)).state, 'completed')
  const { state } = await tenant.read(before.bonded)
  if (scenario.endsSessions === true) assert.ok(['bonded', 'expired'].includes(state), state)
  else {
    assert.equal(state, 'bonded')
    await tenant.complete(before.bonded)
    await tenant.complete(await tenant.bond(before.pending))
  }
  if (state === 'expired') await assert.rejects(tenant.complete(before.bonded))
}

async function isReady(origin: string): Promise<boolean> {
  const signal = AbortSignal.timeout(RESPONDS_WITHIN_MS)
  const { status } = await fetch(`${origin}/health/ready`, { signal })
  return status === 200
}

interface Observed {
  created: number
  rejected: number
  unready: number
  withoutResponse: number
  readonly sessions: CreatedSession[]
}

/** A tenant's backend and a phone, which use the first node of a cluster. */
class Tenant {
  readonly #cluster: Cluster
  readonly #credential: string
  readonly #phone: SimulatedPhone

  private constructor(cluster: Cluster, credential: string) {
    this.#cluster = cluster
    this.#credential = credential
    this.#phone = createSimulatedPhone({
      origin: ORIGIN,
      fetch: (url, { signal: _own, ...request }) =>
        fetch(this.#node + url.slice(ORIGIN.length), {
          ...request,
          signal: AbortSignal.timeout(RESPONDS_WITHIN_MS),
        }),
    })
  }

  static async create(cluster: Cluster): Promise<Tenant> {
    const created = await cluster.operator.jsonMeanwhile(
      'tenant',
      'create',
      '--name=Shop',
      '--environment=sandbox',
      '--origin=https://shop.example',
      '--workflow=w:a',
    )
    return new Tenant(cluster, created.server_credential)
  }

  get #node(): string {
    return this.#cluster.nodes[0]?.origin ?? ''
  }

  async create(): Promise<CreatedSession> {
    return this.#json(await this.#call('POST', '/sessions', { body: '{}' }), 201)
  }

  async bond(session: CreatedSession): Promise<CreatedSession> {
    const { state } = await this.#phone.run(session.qr_payload, 'approve')
    assert.equal(state, 'bonded')
    return session
  }

  async complete(session: CreatedSession): Promise<CreatedSession> {
    const headers = { 'x-bond-completion-secret': session.completion_secret }
    const path = `/sessions/${session.id}/form-completed`
    await this.#json(await this.#retried('POST', path, { headers }), 200)
    return session
  }

  async read({ id }: CreatedSession): Promise<FullSession> {
    return this.#json(await this.#retried('GET', `/sessions/${id}`), 200)
  }

  /** One whole session, as the proof that the node has recovered. */
  async works(): Promise<true | undefined> {
    try {
      await this.complete(await this.bond(await this.create()))
      return true
    } catch {
      await wait(PROBE_EVERY_MS)
      return undefined
    }
  }

  isReady(): Promise<boolean> {
    return isReady(this.#node)
  }

  /** Creates sessions while the fault lasts. A rejection must be 503 with Retry-After. */
  async probe({ lastsMs, during }: Scenario): Promise<Observed> {
    const observed: Observed = {
      created: 0,
      rejected: 0,
      unready: 0,
      withoutResponse: 0,
      sessions: [],
    }
    const until = performance.now() + lastsMs
    const patienceMs = during === 'does not answer' ? lastsMs / 2 : RESPONDS_WITHIN_MS
    do {
      const response = await this.#call('POST', '/sessions', { body: '{}', patienceMs }).catch(
        () => undefined,
      )
      if (response === undefined) observed.withoutResponse += 1
      else if (response.status === 201) {
        observed.created += 1
        observed.sessions.push((await response.json()) as CreatedSession)
      } else {
        assert.deepEqual([response.status, response.headers.has('retry-after')], [503, true])
        observed.rejected += 1
        if (!(await this.isReady())) observed.unready += 1
      }
      await wait(PROBE_EVERY_MS)
    } while (performance.now() < until)
    if (during !== 'does not answer')
      assert.equal(observed.withoutResponse, 0, 'every call is answered')
    return observed
  }

  /** Repeats a call that may be repeated after a 503: one more broken connection may be in use. */
  #retried(
    method: 'GET' | 'POST',
    path: string,
    given?: { headers?: Record<string, string> },
  ): Promise<Response> {
    return until(async () => {
      const response = await this.#call(method, path, given)
      if (response.status !== 503) return response
      await wait(PROBE_EVERY_MS)
      return undefined
    }, RECOVERS_WITHIN_MS)
  }

  #call(
    method: 'GET' | 'POST',
    path: string,
    given: { headers?: Record<string, string>; body?: string; patienceMs?: number } = {},
  ): Promise<Response> {
    const { headers, body, patienceMs = RESPONDS_WITHIN_MS } = given
    return fetch(`${this.#node}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#credential}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(patienceMs),
    })
  }

  // Each caller names the shape that its endpoint returns.
  // oxlint-disable-next-line typescript/no-explicit-any
  async #json(response: Response, status: number): Promise<any> {
    const text = await response.text()
    assert.equal(response.status, status, text)
    return JSON.parse(text)
  }
}
