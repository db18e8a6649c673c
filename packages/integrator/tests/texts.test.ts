import assert from 'node:assert/strict'
import { test } from 'node:test'
import { APPROVAL_REMEDIES } from '../src/approval/errors.ts'
import {
  type FormReply,
  type GatedFormOptions,
  replyToSession,
  replyToSubmit,
} from '../src/form/gated-form.ts'
import { adviceFor, GATE_REMEDIES, GateError, VERDICT_REASONS } from '../src/index.ts'

/** What users and integrators read, written out: a code beside a wrong sentence misleads them. */
const SENTENCES = {
  session_missing:
    'Approve this with your phone first: choose Continue, scan the QR code, and approve.',
  session_unavailable:
    'We could not confirm your approval. Wait a moment, then continue again for a new QR code.',
  session_not_bonded:
    'Your phone has not approved this, or its approval is over. Continue again and approve on your phone.',
  tenant_suspended:
    'We cannot confirm your approval. Nothing was done. Please contact us, because trying again will not help.',
  workflow_mismatch: 'That approval was for something else. Continue again and approve this form.',
  action_mismatch: 'That approval was for another step. Continue again and approve this form.',
  session_expired: 'The request expired. Continue again for a new QR code.',
  session_not_ours:
    'That approval was not started from this sign-in. Continue again here and approve with your phone.',
  one_of_several:
    'Several people must approve this. Nothing was done. Please contact us, because trying again will not help.',
  tenant_mismatch:
    'That approval was not made for us. Continue again here and approve with your phone.',
  verification_missing:
    'Your phone gave no proof with its approval. Continue again and approve on your phone.',
  device_not_possessed:
    'We could not confirm your phone. Continue again and approve with the phone you carry.',
  local_auth_not_verified:
    'Your phone did not confirm that it was you. Continue again and unlock with your fingerprint, face, or PIN when asked.',
  passport_chip_missing:
    'This needs the chip of your passport. Continue again and hold your passport to your phone when asked.',
  context_mismatch:
    'The form changed after you approved it. Check it, then continue again and approve the new version.',
  context_missing:
    'Your approval could not be matched with this form. Nothing was done. Please contact us, because trying again will not help.',
  browser_not_proved: 'This browser was not confirmed. Reload the page and start again.',
  subject_mismatch:
    'That phone is not the one we know for you. Continue again with your own phone.',
  already_used:
    'This approval has already been used. Check whether your request arrived before you start a new one.',
  low_confidence:
    'Our staff will review your request, because your phone could not be confirmed well enough.',
  sim_swap_recent:
    'Our staff will review your request, because the SIM of your phone changed recently.',
  low_continuity:
    'Our staff will review your request, because your phone was not held long enough to be sure.',
}

test('each reason has the sentence that tells the user the next step', () => {
  const found = VERDICT_REASONS.map((reason) => [reason, adviceFor(reason)])
  assert.deepEqual(found, Object.entries(SENTENCES))
})

test('each error of a gate says what to do', () => {
  assert.deepEqual(GATE_REMEDIES, {
    service_unavailable:
      'Retry later. If it persists, check baseUrl, the network, and the status of the service.',
    rate_limited: 'Retry after `retryAfterMs`. Limit how many sessions one visitor can create.',
    unauthorized: 'Set serverCredential to a credential of this service that is not revoked.',
    forbidden:
      'Enable the workflow and action for this credential, or let the operator resume the tenant.',
    invalid_request: 'Change the call: the message and `reason` name what is wrong.',
    not_found: 'Create a new session: this one was deleted, or belongs to another tenant.',
    unexpected_answer: 'Set baseUrl to the service itself: something else answered.',
    invalid_configuration: 'Change the option that the message names. No call was made.',
    session_unknown: 'Use the store and the session id of the create: no row has this id.',
    action_not_committed:
      'Let an action pass the errors of its database on, and call complete after its commit.',
    verdict_invalid: 'Pass `use` the object that `verify` of the same gate returned.',
  })
})

test('each error of an approval says what to do', () => {
  assert.deepEqual(APPROVAL_REMEDIES, {
    approval_unknown: 'Use the store, the id and the owner of the request.',
    arguments_invalid: 'Pass arguments that are a JSON object. The message names the member.',
    text_too_long: 'Request less at once: a person reads all of it before approving.',
    not_approved: 'Wait until the user approves, or make a new request. See `reasons`.',
    outcome_unknown: 'Find out whether the action happened, and pass the answer to `reconcile`.',
    already_executed: 'Make a new request: an approval runs one action.',
  })
})

interface Draft {
  readonly amount: number
  readonly note?: string
}
type Options = GatedFormOptions<object, object, Draft, string>

const CREATED = { id: 'sess_1' }

/** A form whose gate answers with a session, or fails. */
function formOf(change: object = {}, fails?: GateError): Options {
  const gate = {
    create: async () => {
      if (fails !== undefined) throw fails
      return { session: CREATED }
    },
    protect: async () => ({ outcome: 'done', decision: 'accept', result: 'paid' }),
  }
  return {
    gate,
    workflow: 'w',
    action: 'a',
    address: 'visitors_share_one_limit',
    owner: () => 'anna',
    record: () => ({ amount: 5 }),
    display: ({ amount, note }: Draft) => [
      { label: 'Amount', value: String(amount) },
      { label: 'Note', value: note ?? '-' },
    ],
    accept: async () => 'paid',
    onError: () => {},
    ...change,
  } as unknown as Options
}

const error = (code: string, message: string, param?: string) => ({
  error: { code, message, ...(param !== undefined && { param }) },
})
const CROSS_SITE = [403, error('cross_site', 'Send this from the site’s own page.')] as const
const SIGN_IN = [401, error('login_missing', 'Sign in, then open the form again.')] as const

/** An answer without the one header that all have. */
function answer({ status, headers, body }: FormReply): readonly unknown[] {
  const { 'cache-control': cache, ...more } = headers
  assert.equal(cache, 'no-store')
  return Object.keys(more).length > 0 ? [status, body, more] : [status, body]
}

test('the route of a session answers each case with its status, its code and its sentence', async () => {
  const later =
    'Approving by phone does not work at the moment. Nothing was sent. Try again in a minute.'
  const check = (field: string) => `Check the field “${field}” of the form.`
  const outage = (retryAfterMs?: number) =>
    new GateError('service_unavailable', 'Down.', { retryAfterMs })
  const rejected = (param: string) => new GateError('invalid_request', 'No.', { param })
  const read = (header: string) => (name: string) =>
    name === 'sec-fetch-site' ? header : undefined
  for (const [form, expected, site = 'same-origin'] of [
    [formOf(), [201, CREATED]],
    [formOf(), CROSS_SITE, 'cross-site'],
    [formOf({ owner: () => undefined }), SIGN_IN],
    [formOf({ owner: () => '' }), SIGN_IN],
    [
      formOf({ record: () => undefined }),
      [409, error('record_missing', 'Fill in the form first.')],
    ],
    [
      formOf({
        display: () => {
          throw new TypeError('no amount')
        },
      }),
      [
        500,
        error(
          'display_failed',
          'This cannot be shown on a phone, because of a fault of the site. Nothing was sent.',
        ),
      ],
    ],
    [
      formOf({ record: () => ({ amount: 5, note: '\ud83d' }) }),
      [400, error('form_invalid', check('note'), 'note')],
    ],
    [
      formOf({}, rejected('context.display.1.value')),
      [400, error('form_invalid', check('Note'), 'context.display.1.value')],
    ],
    [
      formOf({}, rejected('context.text')),
      [400, error('form_invalid', check('context.text'), 'context.text')],
    ],
    [
      formOf({}, new GateError('forbidden', 'No.', { reason: 'tenant_suspended' })),
      [403, error('approval_suspended', SENTENCES.tenant_suspended)],
    ],
    [formOf({}, outage()), [503, error('approval_unavailable', later), { 'retry-after': '1' }]],
    [
      formOf({}, outage(2_001)),
      [503, error('approval_unavailable', later), { 'retry-after': '3' }],
    ],
  ] as readonly (readonly [Options, readonly unknown[], string?])[]) {
    const found = await replyToSession(form, { request: {}, header: read(site) })
    assert.deepEqual(answer(found), expected)
  }
  for (const fault of [rejected('workflow'), new GateError('unauthorized', 'No.')])
    await assert.rejects(
      replyToSession(formOf({}, fault), { request: {}, header: read('same-origin') }),
      fault,
    )
})

test('the route of a submit answers each case with its status, its code and its sentence', async () => {
  const outcome = (given: object) => formOf({ gate: { protect: async () => given } })
  const advice = ['First.', 'Second.']
  const down = new GateError('service_unavailable', 'Down.')
  const wrong = new GateError('unauthorized', 'No.')
  const missing =
    'The server read no form. Send JSON with Content-Type: application/json of at most 64 KiB, and parse it before this route.'
  const refused = error('not_approved', 'First. Second.')
  const bodyMissing = [400, error('body_missing', missing)]
  for (const [form, expected, body = { amount: 5 }, site = 'same-origin'] of [
    [formOf(), CROSS_SITE, {}, 'cross-site'],
    [formOf({ owner: () => undefined }), SIGN_IN],
    [formOf(), bodyMissing, []],
    [formOf(), bodyMissing, 'text'],
    [formOf(), bodyMissing, null],
    [
      formOf({ parse: () => undefined }),
      [400, error('form_invalid', 'Check the fields of the form.')],
    ],
    [
      formOf(),
      [400, error('form_invalid', 'Check the field “note” of the form.', 'note')],
      { amount: 5, note: '\ud83d' },
    ],
    [
      outcome({ outcome: 'done', decision: 'accept', result: 'paid' }),
      [200, { outcome: 'accepted', result: 'paid' }],
    ],
    [
      outcome({ outcome: 'completion_pending', decision: 'review', result: 'held', error: down }),
      [200, { outcome: 'in_review', result: 'held' }],
    ],
    [outcome({ outcome: 'rejected', advice }), [403, refused]],
    [outcome({ outcome: 'rejected', advice, error: wrong }), [403, refused]],
    [outcome({ outcome: 'rejected', advice, error: down }), [503, refused]],
  ] as readonly (readonly [Options, readonly unknown[], unknown?, string?])[]) {
    const header = (name: string) => (name === 'sec-fetch-site' ? site : undefined)
    const found = await replyToSubmit(form, { request: {}, header, body: () => body })
    assert.deepEqual(answer(found), expected)
  }
})
