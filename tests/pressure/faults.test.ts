import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { CreatedSession, FullSession } from '@bonded/contract'
import { createSimulatedPhone, type SimulatedPhone } from '@bonded/simulator'
import { type Cluster, startCluster } from '../../packages/service/tests/harness/cluster.ts'
import { until } from '../../packages/service/tests/harness/process.ts'
import { FSYNC_SOURCE, fsyncLibrary, type Scenario, SCENARIOS } from './fault-scenarios.ts'

/** The origin that phones sign. Requests for it go to a node. */
const ORIGIN = 'http://localhost:1'
const RECOVERS_WITHIN_MS = 60_000
/** Above every limit of the service, so that only a paused node exceeds it. */
const ANSWERS_WITHIN_MS = 20_000
const PROBE_EVERY_MS = 200

for (const scenario of SCENARIOS) {
  test(`${scenario.name}: the node ${scenario.during}, loses nothing, and recovers by itself`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'bonded-faults-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    if (scenario.name.startsWith('fsync') && !compileFsync(folder)) {
      console.warn(`LOUD: ${scenario.name} is skipped, because gcc or LD_PRELOAD is not available.`)
      t.skip()
      return
    }
    await using cluster = await startCluster({
      ...scenario,
      // Only the first node has the fault.
      envOfFirst: scenario.env?.(folder) ?? {},
    })
    await prove(scenario, { cluster, folder })
  })
}

test('the guide lists every fault, with the same observation', () => {
  const guide = readFileSync(
    resolve(import.meta.dirname, '../../docs/guides/durability.md'),
    'utf8',
  )
  for (const { name, during } of SCENARIOS)
    assert.ok(guide.includes(`| ${name} | ${during}`), `${name} | ${during}`)
})

function compileFsync(folder: string): boolean {
  if (process.platform !== 'linux') return false
  const made = spawnSync('gcc', [
    '-shared',
    '-fPIC',
    '-o',
    fsyncLibrary(folder),
    FSYNC_SOURCE,
    '-ldl',
  ])
  return made.status === 0
}

async function prove(
  scenario: Scenario,
  { cluster, folder }: { cluster: Cluster; folder: string },
): Promise<void> {
  const tenant = new Tenant(cluster)
  const before = {
    completed: await tenant.complete(await tenant.bond(await tenant.create())),
    bonded: await tenant.bond(await tenant.create()),
    pending: await tenant.create(),
  }
  scenario.begin(cluster, folder)
  const observed = await tenant.probe(scenario)
  scenario.end(cluster, folder)
  if (scenario.during === 'works') assert.ok(observed.created > 0, 'new sessions during the fault')
  if (scenario.during === 'answers 503') assert.ok(observed.rejected > 0, 'calls were rejected')
  if (scenario.during === 'does not answer') assert.ok(observed.unanswered > 0, 'no answers')

  await until(() => tenant.works(), RECOVERS_WITHIN_MS)
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

interface Observed {
  created: number
  rejected: number
  unanswered: number
  readonly sessions: CreatedSession[]
}

/** A tenant's backend and a phone, which use the first node of a cluster. */
class Tenant {
  readonly #cluster: Cluster
  readonly #credential: string
  readonly #phone: SimulatedPhone

  constructor(cluster: Cluster) {
    this.#cluster = cluster
    const created = cluster.operator.json(
      'tenant',
      'create',
      '--name=Shop',
      '--environment=sandbox',
      '--origin=https://shop.example',
      '--workflow=w:a',
    )
    this.#credential = created.server_credential
    this.#phone = createSimulatedPhone({
      origin: ORIGIN,
      fetch: (url, { signal: _own, ...request }) =>
        fetch(this.#node + url.slice(ORIGIN.length), {
          ...request,
          signal: AbortSignal.timeout(ANSWERS_WITHIN_MS),
        }),
    })
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
    await this.#json(await this.#call('POST', path, { headers }), 200)
    return session
  }

  async read({ id }: CreatedSession): Promise<FullSession> {
    return this.#json(await this.#call('GET', `/sessions/${id}`), 200)
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

  /** Creates sessions while the fault lasts. A rejection must be 503 with Retry-After. */
  async probe({ lastsMs, during }: Scenario): Promise<Observed> {
    const observed: Observed = { created: 0, rejected: 0, unanswered: 0, sessions: [] }
    const until = performance.now() + lastsMs
    const patienceMs = during === 'does not answer' ? lastsMs / 2 : ANSWERS_WITHIN_MS
    do {
      const answer = await this.#call('POST', '/sessions', { body: '{}', patienceMs }).catch(
        () => undefined,
      )
      if (answer === undefined) observed.unanswered += 1
      else if (answer.status === 201) {
        observed.created += 1
        observed.sessions.push((await answer.json()) as CreatedSession)
      } else {
        assert.deepEqual([answer.status, answer.headers.has('retry-after')], [503, true])
        observed.rejected += 1
      }
      await wait(PROBE_EVERY_MS)
    } while (performance.now() < until)
    if (during !== 'does not answer') assert.equal(observed.unanswered, 0, 'every call is answered')
    return observed
  }

  #call(
    method: 'GET' | 'POST',
    path: string,
    given: { headers?: Record<string, string>; body?: string; patienceMs?: number } = {},
  ): Promise<Response> {
    const { headers, body, patienceMs = ANSWERS_WITHIN_MS } = given
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
  async #json(answer: Response, status: number): Promise<any> {
    const text = await answer.text()
    assert.equal(answer.status, status, text)
    return JSON.parse(text)
  }
}
