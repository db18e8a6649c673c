import assert from 'node:assert/strict'
import { test } from 'node:test'
import { awaitsBrowser, type FetchLike, PhoneError, type RequiredSignals } from '../src/index.ts'
import { jumpingClock } from './clocks.ts'
import type { Fault } from './fake-records.ts'
import { harness } from './harness.ts'

const rejected = (reason: string) => (error: unknown) =>
  error instanceof PhoneError && error.code === 'refused' && error.reason === reason

test('a phone registers, claims, fetches evidence and bonds, with one counter rising over both assertions', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  assert.equal(claimed.session.state, 'pending')
  const bonded = await phone.approve(claimed, { gather: strong })
  assert.equal(bonded.session.state, 'bonded')
  assert.deepEqual(service.counters, [1, 2])
})

test('the second session uses the registered device and its next counter', async () => {
  const { service, phone, strong } = harness()
  await phone.register()
  await phone.approve(await phone.claim(service.link), { gather: strong })
  assert.equal(service.requests.filter(({ path }) => path === '/api/v1/devices').length, 1)
})

test('two claims at once register one device', async () => {
  const { service, phone } = harness()
  await Promise.all([phone.claim(service.payload), phone.claim(service.payload)])
  assert.equal(service.requests.filter(({ path }) => path === '/api/v1/devices').length, 1)
})

test('an approval uses the evidence that was fetched for the same nonce before, and no other', async () => {
  const { service, phone, strong } = harness()
  const evidenceRequests = () =>
    service.requests.filter(({ path }) => path.endsWith('/evidence')).length
  const claimed = await phone.claim(service.payload)
  const signals = strong()
  const evidence = await phone.fetchEvidence(claimed, { signals })
  assert.equal(evidenceRequests(), 1)

  const other = { ...evidence, claimed: { ...claimed, session: { ...claimed.session, nonce: '' } } }
  await phone.approve(claimed, { gather: () => ({ ...signals, evidence: other }) })
  assert.equal(evidenceRequests(), 2)

  const next = harness()
  const held = await next.phone.claim(next.service.payload)
  const own = await next.phone.fetchEvidence(held, { signals })
  const gather = () => ({ ...signals, evidence: own })
  const bonded = await next.phone.approve(held, { gather })
  assert.equal(bonded.session.state, 'bonded')
  assert.equal(next.service.requests.filter(({ path }) => path.endsWith('/evidence')).length, 1)
})

const MARKED = { context: { display: [{ label: 'סכום', value: '\u200f12,500.00 \u200f₪' }] } }

test('a phone that isolates values approves directional marks, and says so in claim and assertion', async () => {
  const { service, phone, strong } = harness({ clock: jumpingClock(0), isolatesValues: true })
  service.change(MARKED)
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  assert.equal(bonded.session.state, 'bonded')
  const shown = service.requests.map(({ body }) => (body as { shows?: unknown } | null)?.shows)
  assert.deepEqual(shown.filter(Boolean), [['directional_marks'], ['directional_marks']])
})

test('a phone that does not isolate values claims no request with directional marks', async () => {
  const { service, phone } = harness()
  service.change(MARKED)
  await assert.rejects(phone.claim(service.payload), rejected('text_not_shown'))
})

const TEXT = {
  context: { display: [{ label: 'Amount', value: '12' }], text: '{\n  "amount": 12\n}' },
}

test('a phone that shows texts approves one, and says so in claim and assertion', async () => {
  const { service, phone, strong } = harness({ clock: jumpingClock(0), showsText: true })
  service.change(TEXT)
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  assert.equal(bonded.session.state, 'bonded')
  const shown = service.requests.map(({ body }) => (body as { shows?: unknown } | null)?.shows)
  const words = ['text', 'requester']
  assert.deepEqual(shown.filter(Boolean), [words, words])
})

test('a phone that does not show texts claims no request with one', async () => {
  const { service, phone } = harness({ clock: jumpingClock(0), isolatesValues: true })
  service.change(TEXT)
  await assert.rejects(phone.claim(service.payload), rejected('text_not_shown'))
})

const QUORUM = {
  context: { display: [], quorum: { id: `quo_${'0'.repeat(22)}` as const, needed: 2, of: 3 } },
}

test('a phone that shows the rule of a quorum approves, and says so in claim and assertion', async () => {
  const { service, phone, strong } = harness({ clock: jumpingClock(0), showsQuorum: true })
  service.change(QUORUM)
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  assert.equal(bonded.session.state, 'bonded')
  const shown = service.requests.map(({ body }) => (body as { shows?: unknown } | null)?.shows)
  assert.deepEqual(shown.filter(Boolean), [['quorum'], ['quorum']])
})

test('a phone that does not show the rule of a quorum claims no request with one', async () => {
  const clock = jumpingClock(0)
  const { service, phone } = harness({ clock, isolatesValues: true, showsText: true })
  service.change(QUORUM)
  await assert.rejects(phone.claim(service.payload), rejected('text_not_shown'))
})

test('relays verified evidence unchanged, including unknown members', async () => {
  const { service, phone, strong } = harness()
  service.evidenceExtra = { liveness: { score: 0.5, notes: ['é', null] }, __proto: 1 }
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  assert.equal(bonded.session.state, 'bonded')
  const sent = service.requests.find(({ path }) => path.endsWith('/attestations'))?.body as {
    verified_evidence: { liveness: unknown }
  }
  assert.deepEqual(sent.verified_evidence.liveness, { score: 0.5, notes: ['é', null] })
})

test('signs null for the context of a session without one', async () => {
  const { service, phone, strong } = harness()
  service.change({ context: null, workflow: null, action: null })
  const bonded = await phone.approve(await phone.claim(service.payload), { gather: strong })
  assert.equal(bonded.session.state, 'bonded')
})

test('a step-up is answered with the step nonce and fresh evidence', async () => {
  const { service, phone, weak, strong } = harness()
  service.require = ['local_auth', 'sensor_continuity']
  const requested: RequiredSignals[] = []
  const states: string[] = []
  const bonded = await phone.approve(await phone.claim(service.payload), {
    gather: (ask) => {
      requested.push(ask)
      return requested.length === 1 ? weak() : strong()
    },
    onResponse: ({ session }) => states.push(session.state),
  })
  assert.equal(bonded.session.state, 'bonded')
  assert.deepEqual(states, ['step_up_required', 'bonded'])
  assert.deepEqual(requested[0], { required: [], reasons: [], attempts_left: undefined })
  assert.deepEqual(requested[1], {
    required: ['local_auth', 'sensor_continuity'],
    reasons: [],
    attempts_left: 2,
  })
  assert.deepEqual(service.counters, [1, 2, 3, 4])
})

test('a phone signs nothing more when a view has another request than its user saw', async () => {
  for (const change of [
    { context: { display: [{ label: 'Amount', value: '€ 99,000.00' }] } },
    { context: null },
    { workflow: 'account_opening' },
    { action: 'delete_account' },
    { tenant_id: `ten_${'A'.repeat(22)}` },
  ]) {
    const { service } = harness()
    service.require = ['sensor_continuity']
    const swapping: FetchLike = async (url, request) => {
      const honest = await service.fetch(url, request)
      const text = async () => JSON.stringify({ ...JSON.parse(await honest.text()), ...change })
      return url.endsWith('/attestations') ? { ...honest, text } : honest
    }
    const { phone, weak } = harness({ clock: jumpingClock(), fetch: swapping })
    const claimed = await phone.claim(service.payload)
    const [reason] = Object.keys(change)
    await assert.rejects(
      phone.approve(claimed, { gather: weak }),
      { code: 'answer_unreadable', reason },
      reason,
    )
    assert.deepEqual(service.counters, [1, 2], 'one evidence and one assertion')
  }
})

test('an unknown kind of step-up stops the phone before it signs anything more', async () => {
  for (const kind of ['iris_scan', 'passport_chip', '__proto__']) {
    const { service, phone, strong } = harness()
    service.require = [kind]
    const claimed = await phone.claim(service.payload)
    await assert.rejects(
      phone.approve(claimed, { gather: strong }),
      (error) =>
        error instanceof PhoneError &&
        error.code === 'step_up_unsupported' &&
        error.reason === kind,
    )
    assert.deepEqual(service.counters, [1, 2], kind)
  }
})

test('waits for the page’s browser with nothing more to sign', async () => {
  const { service, phone, strong } = harness()
  service.require = ['local_auth', 'browser']
  const claimed = await phone.claim(service.payload)
  assert.equal(awaitsBrowser(claimed.session), false)
  const waiting = await phone.approve(claimed, { gather: strong })
  assert.equal(awaitsBrowser(waiting.session), true)
  assert.deepEqual(service.counters, [1, 2])
  await assert.rejects(
    phone.approve(waiting, { gather: strong }),
    (error) =>
      error instanceof PhoneError && error.code === 'not_awaiting' && error.reason === 'browser',
  )
  assert.deepEqual(service.counters, [1, 2])
  service.fail('/decline', 'unsent')
  const ended = await phone.decline(waiting, { reason: 'user_unexpected' })
  assert.equal(ended.session.state, 'killed')
})

test('waits for the page’s browser after a lost response too', async () => {
  for (const fault of ['no_response', 'timed_out'] as const) {
    const { service, phone, strong } = harness()
    service.require = ['browser']
    service.fail('/attestations', fault)
    const claimed = await phone.claim(service.payload)
    const waiting = await phone.approve(claimed, { gather: strong })
    assert.equal(awaitsBrowser(waiting.session), true, fault)
    assert.deepEqual(service.counters, [1, 2], fault)
  }
})

test('approves again with the same nonce when the page’s browser did not confirm in time', async () => {
  const { service, phone, strong } = harness()
  service.require = ['browser']
  const waiting = await phone.approve(await phone.claim(service.payload), { gather: strong })
  const again = { required: ['local_auth'], attempts_left: 2, reasons: ['evidence_expired'] }
  service.change({ step_up: again })
  service.evidenceExtra = { fetched: 'again' }
  const asked = await phone.getSession(waiting)
  assert.equal(awaitsBrowser(asked.session), false)
  const requested: RequiredSignals[] = []
  const approved = await phone.approve(asked, {
    gather: (required) => {
      requested.push(required)
      return strong()
    },
  })
  assert.deepEqual(requested, [again])
  assert.equal(awaitsBrowser(approved.session), true)
})

test('stops at a proof that comes with the browser’s and that it does not know', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  const step_up = { required: ['browser', 'iris_scan'], attempts_left: 2, reasons: [] }
  service.change({ state: 'step_up_required', step_up })
  await assert.rejects(
    phone.approve(await phone.getSession(claimed), { gather: strong }),
    (error) => error instanceof PhoneError && error.code === 'step_up_unsupported',
  )
  assert.deepEqual(service.counters, [])
})

test('stops after the third assertion that does not meet the policy', async () => {
  const { service, phone, weak } = harness()
  service.require = ['local_auth']
  await assert.rejects(
    phone.approve(await phone.claim(service.payload), { gather: weak }),
    rejected('policy_not_met'),
  )
  assert.deepEqual(service.counters, [1, 2, 3, 4, 5, 6])
  assert.equal(service.session.state, 'killed')
})

test('ends a declined session with the user’s reason', async () => {
  for (const reason of ['user_declined', 'user_unexpected'] as const) {
    const { service, phone } = harness()
    const ended = await phone.decline(await phone.claim(service.payload), { reason })
    assert.equal(ended.session.state, 'killed')
    const { body } = service.requests.at(-1) ?? {}
    assert.deepEqual(body, {
      nonce: ended.claimed_nonce,
      device_id: ended.device.device_id,
      reason,
    })
  }
})

test('repeats a decline without the note that the service rejects, and only then', async () => {
  const note = 'The invoice is of 8 March'
  const declines = async (...faults: Fault[]) => {
    const { service, phone } = harness()
    const claimed = await phone.claim(service.payload)
    service.fail('/decline', ...faults)
    const ended = await phone.decline(claimed, { reason: 'user_declined', note }).then(
      ({ session }) => session.state,
      ({ reason }: PhoneError) => reason,
    )
    const sent = service.requests.filter(({ path }) => path.endsWith('/decline'))
    return [ended, ...sent.map(({ body }) => (body as { note?: string }).note)]
  }
  assert.deepEqual(await declines(), ['killed', note])
  for (const [status, reason] of [
    [400, 'unknown_member'],
    [400, 'invalid_member'],
    [413, 'body_too_large'],
  ] as const)
    assert.deepEqual(await declines({ status, reason }), ['killed', note, undefined], reason)
  const over = { status: 409, reason: 'session_not_live' } as const
  assert.deepEqual(await declines(over), ['session_not_live', note])
})

test('an ended session is not signed for', async () => {
  const { service, phone, strong } = harness()
  const ended = await phone.decline(await phone.claim(service.payload), { reason: 'user_declined' })
  await assert.rejects(
    phone.approve(ended, { gather: strong }),
    (error) => error instanceof PhoneError && error.code === 'not_awaiting',
  )
  assert.deepEqual(service.counters, [])
})

test('two concurrent approvals use the key in turn', async () => {
  const { service, phone, strong } = harness()
  const claimed = await phone.claim(service.payload)
  const results = await Promise.allSettled([
    phone.approve(claimed, { gather: strong }),
    phone.approve(claimed, { gather: strong }),
  ])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  assert.deepEqual(service.counters, [1, 2])
  const [, second] = results
  assert.ok(second?.status === 'rejected' && rejected('session_not_live')(second.reason))
})

test('an aborted signal ends a call with cancelled', async () => {
  const { service, phone } = harness()
  await assert.rejects(
    phone.claim(service.payload, { signal: AbortSignal.abort() }),
    (error) => error instanceof PhoneError && error.code === 'cancelled',
  )
})
