import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawInbox } from '../../src/inbox/draw.ts'
import type { Screen } from '../../src/screen.ts'
import { contextOf, EMPTY, LIST, PAUSE, push, setNow } from './inbox-scenes.ts'
import { problem, SHORT } from './page-scenes.ts'
import { outline } from './small-document.ts'

/* The inbox, with what its buttons report. `small-document.ts` has the short forms. */

function drawn(screen: Screen, more: { access?: string; canNotify?: boolean } = {}): string {
  setNow(0)
  const reported: string[] = []
  const { title, content } = drawInbox(screen, contextOf(reported, more))
  return [title, outline(content, reported)].join('\n')
}

const alike = { number: 2, count: 3, withinMs: 20_000 }
const request = (members: object = {}) =>
  ({
    name: 'request',
    request: { ...SHORT, requesting_origin: null },
    notice: null,
    isAnother: false,
    ...members,
  }) as Screen

const SCREENS: readonly {
  screen: Screen
  more?: Parameters<typeof drawn>[1]
  shows: readonly string[]
}[] = [
  {
    screen: { name: 'inbox', waiting: 0, notice: null },
    shows: [
      'Inbox',
      '(phone busy)',
      '<h1 tabindex="-1" aria-live="polite">Inbox</h1>',
      'New requests appear here by themselves.',
      'actions: [plain Open → open][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'inbox', waiting: 0, notice: 'connection_lost' },
    shows: [
      'Inbox',
      '(phone busy)',
      '<h1 tabindex="-1" aria-live="polite">Inbox</h1>',
      'No connection. The page continues by itself when it is back.',
      'actions: [plain Open → open][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'inbox', waiting: 1_200, notice: 'connection_lost' },
    more: { access: 'needs_permission' },
    shows: [
      'Inbox',
      '(phone busy)',
      '<h1 tabindex="-1" aria-live="polite">Requests waiting: 1,200</h1>',
      'To read them, confirm with your screen lock. This approves nothing.',
      'note: The motion sensors show that this phone is held, not lying still. Your phone may ask you to allow them. The readings stay on this phone.',
      'actions: [Open → open][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'no_inbox', hasNotRecovered: false },
    shows: [
      'Inbox',
      '(phone busy)',
      '# Inbox',
      'This phone has no inbox yet. Your first approval for an organization is always on its page.',
      'actions: [I have used this phone before → recover]',
    ],
  },
  {
    screen: { name: 'no_inbox', hasNotRecovered: true },
    shows: [
      'Inbox',
      '(phone busy)',
      '# Inbox',
      'This phone has no inbox yet. Your first approval for an organization is always on its page.',
      'alert: Your phone did not confirm a passkey that the service knows.',
      'actions: [I have used this phone before → recover]',
    ],
  },
  {
    screen: LIST,
    shows: [
      'Inbox',
      '# Inbox',
      '<ul class="inbox"><li><button type="button" class="item"><bdi class="tenant" dir="auto" translate="no">Harbor<span class="blank"> </span><span class="blank"> </span>Bank</bdi><bdi class="purpose" dir="auto" translate="no">Payments · Pay</bdi><bdi class="requester" dir="auto" translate="no">Invoice agent</bdi><span class="note">1/2 · 1 minute ago · 5 minutes left</span> → select sess_1</button></li><li><button type="button" class="item"><bdi class="tenant" dir="auto" translate="no">Shop</bdi><span class="note">2 hours ago · 22 hours left</span> → select sess_2</button></li></ul>',
      '[plain Your phones → keys]',
      '<div class="actions" hidden>[Show new requests → open]</div>',
    ],
  },
  {
    screen: { ...EMPTY, notice: 'connection_lost', isOver: true, hasNewer: true },
    shows: [
      'Inbox',
      '# Inbox',
      'alert: This request has ended',
      'No connection. The page continues by itself when it is back.',
      '[plain Your phones → keys]',
      'actions: [Show new requests → open]',
    ],
  },
  {
    screen: { ...EMPTY, cursor: 'next', paused: [PAUSE], push: push(false) },
    shows: [
      'Inbox',
      '# Inbox',
      'New requests appear here by themselves.',
      '[plain Show more → more]',
      '<div class="key"><p>You reported a request from {Shop}. It cannot ask you again until {11/21/26, 9:05 AM}.</p>[plain Allow requests again → resume ten_1]</div>',
      '[plain Turn on notifications → notify false]',
      '[plain Your phones → keys]',
      '<div class="actions" hidden>[Show new requests → open]</div>',
    ],
  },
  {
    screen: { ...EMPTY, push: push(true), isBlocked: true },
    shows: [
      'Inbox',
      '# Inbox',
      'New requests appear here by themselves.',
      'alert: This browser blocks notifications. Allow them for this site in its settings.',
      '[plain Turn off notifications → notify true]',
      '[plain Your phones → keys]',
      '<div class="actions" hidden>[Show new requests → open]</div>',
    ],
  },
  {
    screen: { ...EMPTY, push: push(true) },
    more: { canNotify: false },
    shows: [
      'Inbox',
      '# Inbox',
      'New requests appear here by themselves.',
      '[plain Your phones → keys]',
      '<div class="actions" hidden>[Show new requests → open]</div>',
    ],
  },
  {
    screen: { name: 'note', tenant_name: 'Harbor Bank', notice: null },
    shows: [
      'Why do you decline?',
      '(phone busy)',
      '# Why do you decline?',
      'Optional. {Harbor Bank} and the program that asked will read this.',
      '<textarea aria-label="Why do you decline?" dir="auto" maxlength="200"></textarea>',
      'note: 0/200',
      'actions: [Decline → decline ""][plain Back → close]',
    ],
  },
  {
    screen: { name: 'decided' },
    shows: [
      'This request has ended',
      '(clock calm)',
      '# This request has ended',
      'It has been decided.',
      'actions: [Back → close][plain Your phones → keys]',
    ],
  },
  {
    screen: request({ alike }),
    shows: [
      'Harbor Bank asks for your approval',
      '<button type="button" class="button plain back">Back → close</button>',
      'alert: 2 of 3 like this, sent within 1 minute',
      '<h1 tabindex="-1" class>{Harbor Bank} asks for your approval</h1>',
      '<p class="note" role="timer">{1:05} left</p>',
      '<p class="question">Approve only if you expect this request and agree with every detail.</p>',
      '<section aria-label="Request details">(Payee | Ada)(Purpose | Credit application · Submit it)</section>',
      'actions: <p class="note read-all" id="read-all" hidden>Scroll down to read the whole request.</p><button type="button" class="button" aria-disabled="true" aria-describedby="read-all">Approve → approve</button>[stop This wasn’t me → report][plain Decline → decline]',
    ],
  },
  {
    screen: request({
      request: { ...SHORT, expires_in_ms: 600_001, quorum: { needed: 2, of: 3 } },
      alike: { ...alike, count: 1 },
    }),
    shows: [
      'Harbor Bank asks for your approval',
      '<button type="button" class="button plain back">Back → close</button>',
      '<h1 tabindex="-1" class>{Harbor Bank} asks for your approval</h1>',
      '<p class="note" role="timer">{11 minutes} left</p>',
      '<p class="question">{2} of {3} people must approve. You are one of them.</p>',
      '<p class="question">Approve only if you started this request yourself, just now, on that page.</p>',
      '<section aria-label="Request details">(Payee | Ada)(Purpose | Credit application · Submit it)</section>',
      'actions: <p class="note read-all" id="read-all" hidden>Scroll down to read the whole request.</p><button type="button" class="button" aria-disabled="true" aria-describedby="read-all">Approve → approve</button>[stop This wasn’t me → report][plain Decline → decline]',
    ],
  },
  {
    screen: {
      name: 'approved',
      request: { ...SHORT, quorum: { needed: 2, of: 3 } },
      isSynced: false,
    },
    shows: [
      'Approved',
      '(check good)',
      '# Approved',
      '{2} of {3} people must approve. You are one of them.',
      '(Payee | Ada)',
      'actions: [Back → close][stop This wasn’t me → report][plain Decline → decline]',
    ],
  },
  {
    screen: { name: 'approved', request: SHORT, isSynced: false },
    shows: [
      'Approved',
      '(check good)',
      '# Approved',
      '{Harbor Bank} is completing your request. You can close this page.',
      '(Payee | Ada)',
      'actions: [Back → close]',
    ],
  },
  {
    screen: {
      name: 'unreported',
      request: { ...SHORT, quorum: { needed: 2, of: 3 } },
      isSynced: false,
    },
    shows: [
      'Approved',
      '(check good)',
      '# Approved',
      'No result was reported.',
      '(Payee | Ada)',
      'actions: [Back → close]',
    ],
  },
  {
    screen: { name: 'ended', end: 'reported', tenant: 'Harbor Bank' },
    shows: [
      'Request stopped',
      '(shield stop)',
      '# Request stopped',
      'Nothing was approved. {Harbor Bank} sees that you did not expect this request, and cannot ask you again for now.',
      'actions: [Back → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'ended', end: 'expired', tenant: 'Harbor Bank' },
    shows: [
      'The request has expired',
      '(clock calm)',
      '# The request has expired',
      'Nothing was approved.',
      'actions: [Back → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'ended', end: 'not_verified', tenant: 'Harbor Bank' },
    shows: [
      'Not verified',
      '(mark warn)',
      '# Not verified',
      'Nothing was approved.',
      'actions: [Back → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'ended', end: 'canceled', tenant: 'Harbor Bank' },
    shows: [
      'The request was canceled',
      '(cross calm)',
      '# The request was canceled',
      'It was approved, declined, or canceled, or its time is over.',
      'actions: [Back → close][plain Your phones → keys]',
    ],
  },
  {
    screen: problem('session_over'),
    shows: [
      'This request has ended',
      '(mark warn)',
      '# This request has ended',
      'It was approved, declined, or canceled, or its time is over.',
      'actions: [Back → close]',
    ],
  },
  {
    screen: problem('qr_code_expired'),
    shows: [
      'This request has ended',
      '(mark warn)',
      '# This request has ended',
      'It was approved, declined, or canceled, or its time is over.',
      'actions: [Back → close]',
    ],
  },
  {
    screen: problem('claimed_by_other_phone'),
    shows: [
      'Another phone opened this request',
      '(mark warn)',
      '# Another phone opened this request',
      'It was approved, declined, or canceled, or its time is over.',
      'actions: [Back → close]',
    ],
  },
  {
    screen: problem('app_only'),
    shows: [
      'This request needs the app',
      '(mark warn)',
      '# This request needs the app',
      'It asks for a proof that a browser cannot give.',
      'actions: [Back → close]',
    ],
  },
  {
    screen: problem('app_required'),
    shows: [
      'This request needs the app',
      '(mark warn)',
      '# This request needs the app',
      'Nothing was approved.',
      'actions: [Decline → decline][stop This wasn’t me → report]',
    ],
  },
  {
    screen: problem('offline'),
    shows: [
      'No connection',
      '(mark warn)',
      '# No connection',
      'Wait a few seconds, then try again.',
      'actions: [Try again → retry]',
    ],
  },
  {
    screen: problem('unexpected'),
    shows: [
      'Something went wrong',
      '(mark warn)',
      '# Something went wrong',
      'Wait a few seconds, then try again.',
      'actions: [Try again → retry]',
    ],
  },
]

for (const [index, { screen, more, shows }] of SCREENS.entries())
  test(`draws screen ${index + 1} of the inbox: ${screen.name}`, () =>
    assert.deepEqual(drawn(screen, more).split('\n'), shows))
