import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { PhoneSession } from '@bonded/contract'
import { stringify } from 'yaml'
import { firstOutput } from '../../../tests/harness/first-output.ts'
import { bondedUser } from '../../../tests/harness/inbox.ts'
import type { TestPhone } from '../../../tests/harness/phone.ts'
import { ahead } from './ahead.ts'
import { cibaSetup, DETAILS, openidClient } from './harness.ts'

/** A start of the provider takes two seconds of CPU time, so it has a part of all approvals. */
const NEEDS = Math.ceil(Number(process.env['APPROVALS'] ?? 2_000) / 25)
/** A provider dies at one of so many writes, with those of its start. */
const [FIRST_WRITE, WRITES] = [30, 240]
const MAIN = join(import.meta.dirname, '../../service/src/main.ts')
const KILL = join(import.meta.dirname, 'kill-at-write.ts')
/** Longer than a process that died keeps others from its request. */
const LEASE_MS = 61_000
/** The answers after which a client asks anew. Otherwise it polls again. */
const OVER = /invalid_grant|expired_token|access_denied/

let child: ChildProcess | undefined
after(() => child?.kill('SIGKILL'))

test('a provider that is killed gives one token for each need, and only what was approved', async () => {
  await using setup = await cibaSetup()
  const { file, issuer, agent, credential, inbox, config } = setup
  const { h } = inbox
  const users = await Promise.all(Array.from({ length: NEEDS }, () => bondedUser(h)))
  h.clock.advance(1)
  const [first, ...others] = config.clients
  const subjects = users.map(({ subjectRef }) => subjectRef)
  writeFileSync(file, stringify({ ...config, clients: [{ ...first, subjects }, ...others] }))

  let kills = 0
  let writes = 0
  /** Starts the provider if it does not run. Each life ends at another write. */
  const running = async (): Promise<void> => {
    while (child === undefined || child.exitCode !== null || child.signalCode !== null) {
      const { NODE_TEST_CONTEXT: _testContext, ...inherited } = process.env
      const words = ['--conditions=@bonded/source', '--disable-warning=ExperimentalWarning']
      writes = (writes + 37) % WRITES
      const started = spawn(
        process.execPath,
        [...words, '--import', KILL, MAIN, 'ciba', 'serve', '--config', file, '--json'],
        {
          env: {
            ...inherited,
            BONDED_SERVER_CREDENTIAL: credential,
            KILL_AT_WRITE: String(FIRST_WRITE + writes),
            AHEAD_MS: String(ahead.ms),
          },
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      )
      child = started
      const ended = once(started, 'exit').then(() => void kills++)
      await Promise.race([firstOutput(started), ended])
    }
  }
  await running()
  const openid = await openidClient(issuer, agent)
  /** Time passes for the service, the client, and the next provider. */
  const pass = (ms: number): void => {
    ahead.ms += ms
    h.clock.advance(Date.now() - h.clock.now())
  }
  /** The answer of the provider, or the name of its rejection; undefined if it was killed. */
  const tried = async <T>(act: () => Promise<T>): Promise<T | string | undefined> => {
    await running()
    pass(0)
    const serving = child
    try {
      return await act()
    } catch (error) {
      const { error: name } = error as { error?: string }
      if (name !== undefined) return name
      // A lost answer, of a provider that has died or is about to.
      serving?.kill('SIGKILL')
      if (serving?.exitCode === null && serving.signalCode === null) await once(serving, 'exit')
      return undefined
    }
  }
  const listed = async (phone: TestPhone) =>
    ((await inbox.open(phone)).body as { items: { session_id: string; nonce: string }[] }).items

  for (const { phone, subjectRef } of users) {
    const tokens = new Set<string>()
    const shown = new Map<string, () => Promise<PhoneSession>>()
    let approved: string | undefined
    for (let attempt = 0; tokens.size === 0; attempt++) {
      assert.ok(attempt < 5, 'a need without a token')
      const asked = await tried(() => openid.ask({ login_hint: subjectRef }))
      if (asked === undefined || typeof asked === 'string') continue
      const [newest] = await listed(phone)
      assert.ok(newest)
      const request = { id: newest.session_id, nonce: newest.nonce }
      await h.claim(phone, request)
      const view = await h.view(phone, request)
      assert.match(view.context?.text ?? '', /"creditor": "ACME Ltd"/)
      assert.equal((await h.attest(phone, view)).status, 200)
      shown.set(request.id, () => h.view(phone, request))
      for (let answer: unknown = ''; ; ) {
        answer = await tried(() => openid.poll(asked.auth_req_id))
        if (typeof answer === 'object' && answer !== null) {
          const { access_token, authorization_details } = answer as Record<string, unknown>
          assert.deepEqual(authorization_details, [DETAILS])
          tokens.add(String(access_token))
          approved = request.id
          break
        }
        if (typeof answer === 'string' && OVER.test(answer)) break
        // `slow_down` and `authorization_pending`: a new provider does not remember the poll, and
        // at its start it settles what a process that died has left.
        if (typeof answer === 'string') {
          child?.kill('SIGKILL')
          pass(LEASE_MS)
        }
      }
    }
    for (const [id, view] of shown) {
      // A phone whose approval has expired shows that nothing was reported.
      const { state } = await view()
      const said = id === approved ? ['bonded', 'expired', 'completed'] : ['bonded', 'expired']
      assert.ok(said.includes(state), `${id} ${state}`)
    }
    assert.equal(tokens.size, 1)
  }
  console.log(`${NEEDS} needs, ${kills} kills of the provider`)
})
