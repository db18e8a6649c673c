import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Secret } from '@bonded/contract'
import {
  CREATED_AT as NOW,
  SESSION_ID,
  sessionWith,
  TENANT_ID,
  tenantWith,
} from '../../../../core/tests/records.ts'
import type { Session } from '../../../../core/src/domain/session.ts'
import type { Settings } from '../../../../core/src/operations/service.ts'
import {
  presentCreated,
  presentFrame,
  presentFull,
  presentInvitation,
  presentPhone,
  presentPublic,
  publicReason,
  qrText,
} from '../../../src/http/response/present.ts'

const settings = {
  publicOrigin: 'https://id.example',
  appScheme: 'pulse',
  qrContent: 'universal_link',
  rpId: 'rp.example',
  relatedOrigins: false,
} as unknown as Settings

/** Every member has a value of its own, so that no two of them can change places. */
const MEMBERS = {
  seq: 7,
  hint: 'claimed',
  verification: { verdict: 'verification' },
  stepUp: { gesture: 'stepUp' },
  subjectRef: 'subject_ref',
  endedReason: 'policy_not_met',
  declineNote: 'decline_note',
  outcome: 'outcome',
  requestingOrigin: 'https://page.example',
} as unknown as Partial<Session>
const tenant = tenantWith({
  name: 'Bank & Söhne',
  logo: 'Logo1.png',
  workflows: [
    { name: 'other', actions: ['send'], title: { en: 'Other' } },
    {
      name: 'wire',
      actions: ['send'],
      title: { en: 'A wire' },
      action_titles: { send: { en: 'Send it' } },
    },
  ],
})
const viewOf = (members: Partial<Session>) => ({
  session: sessionWith({ ...MEMBERS, ...members }),
  now: NOW,
  nonce: 'n0nce',
  rotatesAt: NOW + 1_000,
  challengeExpiresAt: NOW + 2_000,
  watchToken: new Secret('bwt_watch'),
  isUsable: true,
})

/** The members of a view without the times, which `presented-times.test.ts` has. */
const untimed = (view: object) =>
  Object.fromEntries(Object.entries(view).filter(([name]) => !/_(at|ms|time)$/.test(name)))

const LINKS = {
  qr_payload: `pulse://bond?session_id=${SESSION_ID}&nonce=n0nce`,
  api_base_url: 'https://id.example',
  universal_link: `https://id.example/bond?session_id=${SESSION_ID}&nonce=n0nce`,
}
const SOCKET = `wss://id.example/sessions/${SESSION_ID}`
const shared = (state: string) => ({
  id: SESSION_ID,
  state,
  nonce: 'n0nce',
  ...LINKS,
  websocket_url: SOCKET,
  workflow: 'wire',
  action: 'send',
  tenant_id: TENANT_ID,
  seq: 7,
})
const QR_SVG = `/v1/sessions/${SESSION_ID}/qr.svg?nonce=n0nce`
const context = { display: [{ label: 'Amount', value: '10' }] }
const STATES = ['pending', 'step_up_required', 'bonded', 'completed', 'killed', 'expired'] as const

for (const state of STATES) {
  const proved = state === 'bonded' || state === 'completed'
  const ended = state === 'killed'
  const hint = state === 'expired' ? null : 'claimed'

  test(`a backend reads of a session that is ${state} what it may read then`, () => {
    const view = viewOf({ state })
    const full = {
      ...shared(state),
      websocket_url: `${SOCKET}?watch_token=bwt_watch`,
      qr_svg_url: QR_SVG,
      qr_content: 'universal_link',
      verification: proved ? { verdict: 'verification' } : null,
      context,
      subject_ref: proved ? 'subject_ref' : null,
      watch_token: 'bwt_watch',
      step_up: state === 'step_up_required' ? { gesture: 'stepUp' } : null,
      hint,
      ended_reason: ended ? 'policy_not_met' : null,
      decline_note: 'decline_note',
      outcome: 'outcome',
    }
    assert.deepEqual(untimed(presentFull(settings, view)), full)
    assert.equal(presentFull(settings, { ...view, isUsable: false }).verification, null)
    const created = presentCreated(settings, view, new Secret('bcs_secret'))
    assert.deepEqual(untimed(created), { ...full, completion_secret: 'bcs_secret' })
  })

  test(`a page reads of a session that is ${state} neither the proof nor the user`, () => {
    assert.deepEqual(untimed(presentPublic(settings, viewOf({ state }), tenant)), {
      ...shared(state),
      qr_svg_url: QR_SVG,
      qr_content: 'universal_link',
      tenant_name: 'Bank & Söhne',
      tenant_logo_url: '/v1/logos/Logo1.png',
      verification: null,
      watch_token: 'bwt_watch',
      hint,
      ended_reason: ended ? 'not_verified' : null,
      outcome: 'outcome',
      browser: null,
    })
  })

  test(`a phone reads of a session that is ${state} the proof only if it holds the session`, () => {
    const view = { ...viewOf({ state }), tenant }
    const phone = {
      ...shared(state),
      verification: proved ? { verdict: 'verification' } : null,
      tenant_name: 'Bank & Söhne',
      requesting_origin: 'https://page.example',
      workflow_title: { en: 'A wire' },
      action_title: { en: 'Send it' },
      context,
      step_up: state === 'step_up_required' ? { gesture: 'stepUp' } : null,
      ended_reason: ended ? 'not_verified' : null,
      outcome: 'outcome',
      watch_token: 'bwt_watch',
    }
    assert.deepEqual(untimed(presentPhone(settings, view)), phone)
    const { watch_token: _token, ...without } = phone
    assert.deepEqual(untimed(presentPhone(settings, { ...view, watchToken: undefined })), {
      ...without,
      verification: null,
      step_up: null,
    })
  })

  test(`the time that is left of a session that is ${state} is counted only while it runs`, () => {
    const view = viewOf({ state, expiresAt: NOW + 3_000 })
    const left = ({
      expires_in_ms,
      challenge_expires_in_ms,
      challenge_rotates_in_ms,
    }: {
      expires_in_ms: number
      challenge_expires_in_ms: number
      challenge_rotates_in_ms: number
    }) => [expires_in_ms, challenge_expires_in_ms, challenge_rotates_in_ms]
    const runs = !['completed', 'killed', 'expired'].includes(state) ? 3_000 : 0
    const waits = state === 'pending'
    assert.deepEqual(left(presentFull(settings, view)), [
      runs,
      waits ? 2_000 : 0,
      waits ? 1_000 : 0,
    ])
    const steps = state === 'step_up_required'
    assert.deepEqual(left(presentPhone(settings, { ...view, tenant })), [
      runs,
      waits || steps ? 2_000 : 0,
      waits ? 1_000 : 0,
    ])
    const late = { ...view, now: NOW + 60_000 }
    assert.deepEqual(left(presentFull(settings, late)), [0, 0, 0])
  })
}

test('a page and a phone learn the reason of an end in the words for users', () => {
  for (const [reason, shown] of [
    [null, null],
    ['user_declined', 'user_declined'],
    ['user_unexpected', 'user_unexpected'],
    ['canceled', 'canceled'],
    ['decided', 'decided'],
    ['policy_not_met', 'not_verified'],
    ['too_many_attempts', 'not_verified'],
    ['tenant_suspended', 'suspended'],
    ['killed_by_tenant', 'killed'],
    ['killed_by_operator', 'killed'],
  ] as const)
    assert.equal(publicReason(reason), shown, String(reason))
})

test('a QR code has the link that the operator chose', () => {
  const shown = viewOf({})
  assert.equal(qrText(settings, shown), LINKS.universal_link)
  assert.equal(qrText({ ...settings, qrContent: 'app_scheme' }, shown), LINKS.qr_payload)
})

test('a phone without a key reads who asks, and what its key must be', () => {
  const session = sessionWith({ ...MEMBERS, state: 'killed', endedReason: 'killed_by_tenant' })
  const { policy } = session
  const invitation = {
    state: 'killed',
    ended_reason: 'killed',
    tenant_name: 'Bank & Söhne',
    tenant_logo_url: '/v1/logos/Logo1.png',
    requesting_origin: 'https://page.example',
    registration: {
      rp_id: 'rp.example',
      attestation: 'none',
      formats: [...policy.formats],
      browser_key: 'none',
      names_user: false,
    },
  }
  assert.deepEqual(presentInvitation(settings, { session, tenant }), invitation)
  const named = {
    ...session,
    state: 'pending' as const,
    wantedSubjectRef: 'user',
    policy: {
      ...policy,
      require: [...policy.require, 'browser'] as never,
      formats: ['webauthn' as const],
    },
  }
  const found = presentInvitation(settings, { session: named, tenant: tenantWith() })
  assert.deepEqual(
    [found.state, found.ended_reason, found.tenant_logo_url, found.registration],
    [
      'pending',
      null,
      null,
      {
        rp_id: 'rp.example',
        attestation: 'none',
        formats: ['webauthn'],
        browser_key: 'required',
        names_user: true,
      },
    ],
  )
})

test('the browser that must prove itself gets hashes of its credentials and the time that is left', () => {
  const approved = { rpId: 'old.example', credentials: ['AQ', 'Ag'], evidenceUntil: NOW + 5_000 }
  const waiting = viewOf({
    state: 'step_up_required',
    browserProof: { approved } as never,
    context: {
      display: [
        { label: 'To', value: 'Ann' },
        { label: 'Amount', value: 'EUR 10.00' },
      ],
    },
  })
  const hashes = approved.credentials.map((credential_id) =>
    createHash('sha256')
      .update(
        `{"credential_id":"${credential_id}","session_id":"${SESSION_ID}","typ":"bonded-browser-credential/v1"}`,
      )
      .digest('base64url'),
  )
  const frame = presentFrame(waiting.session, { tenant, now: NOW })
  assert.deepEqual(frame, {
    tenant_id: TENANT_ID,
    tenant_name: 'Bank & Söhne',
    workflow: 'wire',
    action: 'send',
    workflow_title: { en: 'A wire' },
    action_title: { en: 'Send it' },
    amount: 'EUR 10.00',
    rp_id: 'old.example',
    allow_credentials: [],
    credential_hashes: hashes,
    timeout_ms: 5_000,
  })
  const frame_url = `https://id.example/frame/${TENANT_ID}`
  assert.deepEqual(presentPublic(settings, waiting, tenant).browser, {
    timeout_ms: 5_000,
    frame_url,
  })
  assert.deepEqual(presentPublic({ ...settings, relatedOrigins: true }, waiting, tenant).browser, {
    rp_id: 'old.example',
    allow_credentials: [],
    credential_hashes: hashes,
    timeout_ms: 5_000,
    frame_url,
  })
  // The session ends before the evidence, and then there is nothing left to prove.
  const { session } = viewOf({ ...waiting.session, expiresAt: NOW + 4_000 })
  assert.equal(presentFrame(session, { tenant, now: NOW + 1_000 })?.timeout_ms, 3_000)
  assert.equal(presentFrame(session, { tenant, now: NOW + 3_999 })?.timeout_ms, 1)
  assert.equal(presentFrame(session, { tenant, now: NOW + 4_000 }), undefined)
  assert.equal(presentFrame(waiting.session, { tenant, now: NOW + 6_000 })?.timeout_ms, 0)
  const without = { ...waiting.session, context }
  assert.equal(presentFrame(without, { tenant, now: NOW })?.amount, null)
})
