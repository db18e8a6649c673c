import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PageScreen } from '../../src/screen.ts'
import { useSmallDocument } from './small-document.ts'
import { drawn, INVITATION, KEYS, LINK, SHORT } from './page-scenes.ts'

/*
 * Each screen of the page before its end, with what its buttons report. The words are those of the
 * page, so that a screen with the words of another one is noticed.
 * `small-document.ts` has the short forms.
 */

useSmallDocument()

const [K0, K1, K2] = KEYS
const SETUP = {
  name: 'setup',
  invitation: INVITATION,
  link: LINK,
  appLink: null,
  recovery: 'none',
  hasNotRecovered: false,
} as const

const SCREENS: readonly {
  screen: PageScreen
  more?: Parameters<typeof drawn>[1]
  shows: readonly string[]
}[] = [
  {
    screen: { name: 'loading' },
    shows: [
      'Approve on your phone',
      '(spinner busy)',
      '<h1 class="unseen">Approve on your phone</h1>',
    ],
  },
  {
    screen: { name: 'desktop', link: LINK },
    shows: [
      'Continue on your phone',
      '(phone busy)',
      '# Continue on your phone',
      'This page approves requests with a phone. Scan the QR code with your phone’s camera.',
      '<svg class="qr" role="img" aria-label="QR code that opens this page on a phone" viewBox="-4 -4 41 41" shape-rendering="crispEdges">',
    ],
  },
  {
    screen: { ...SETUP, appLink: 'bond://bond', recovery: 'offered' },
    shows: [
      'Harbor Bank asks for your approval',
      '<img class="logo" src="https://bond.example/logo.svg" alt></img>',
      '# {Harbor Bank} asks for your approval',
      '<dl class="origin" translate="no">(<dt>Page</dt>https://shop.example<dd class="note" dir="auto">Reported by the browser that shows the QR code.</dd>)</dl>',
      '<p>First, your phone creates a passkey, which you unlock with your fingerprint, face, or PIN. Then you see the request.</p>',
      'actions: [Set up this phone → set_up][plain I have used this phone before → recover]<a class="button plain" href="bond://bond">Open the app instead</a>',
    ],
  },
  {
    screen: {
      ...SETUP,
      invitation: { ...INVITATION, logo: null, requesting_origin: null },
      hasNotRecovered: true,
    },
    more: { access: 'needs_permission' },
    shows: [
      'Harbor Bank asks for your approval',
      '# {Harbor Bank} asks for your approval',
      'alert: Your phone did not confirm a passkey that the service knows.',
      '<p>First, your phone creates a passkey, which you unlock with your fingerprint, face, or PIN. Then you see the request.</p>',
      '<p>The motion sensors show that this phone is held, not lying still. Your phone may ask you to allow them. The readings stay on this phone.</p>',
      'actions: [Set up this phone → set_up]',
    ],
  },
  {
    screen: { ...SETUP, recovery: 'only', hasNotRecovered: true },
    more: { access: 'denied' },
    shows: [
      'Harbor Bank asks for your approval',
      '<img class="logo" src="https://bond.example/logo.svg" alt></img>',
      '# {Harbor Bank} asks for your approval',
      'alert: Your phone did not confirm a passkey that the service knows.',
      '<dl class="origin" translate="no">(<dt>Page</dt>https://shop.example<dd class="note" dir="auto">Reported by the browser that shows the QR code.</dd>)</dl>',
      '<p>This request needs the passkey with which you approved before. Confirm it, then you see the request.</p>',
      '<p>If you have approved for this organization before, use the same phone and browser. Otherwise, contact the organization.</p>',
      '<p class="link" dir="ltr" translate="no">https://bond.example/bond?session_id=sess_1</p>',
      'actions: [I have used this phone before → recover][plain Copy link]',
    ],
  },
  {
    screen: { ...SETUP, recovery: 'only' },
    shows: [
      'Harbor Bank asks for your approval',
      '<img class="logo" src="https://bond.example/logo.svg" alt></img>',
      '# {Harbor Bank} asks for your approval',
      '<dl class="origin" translate="no">(<dt>Page</dt>https://shop.example<dd class="note" dir="auto">Reported by the browser that shows the QR code.</dd>)</dl>',
      '<p>This request needs the passkey with which you approved before. Confirm it, then you see the request.</p>',
      'actions: [I have used this phone before → recover]',
    ],
  },
  {
    screen: { name: 'new_key', tenant: 'Harbor Bank' },
    shows: [
      'This request needs a new passkey',
      '(phone busy)',
      '# This request needs a new passkey',
      '{Harbor Bank} accepts only a passkey that proves the model of its phone. Continue to create one.',
      'actions: [Continue → continue]',
    ],
  },
  {
    screen: { name: 'renew' },
    shows: [
      'Confirm this phone',
      '(phone busy)',
      '# Confirm this phone',
      'The registration of this phone is due for renewal. Confirm it with your screen lock. This approves nothing.',
      'actions: [Continue → continue]',
    ],
  },
  {
    screen: { name: 'motion' },
    shows: [
      'Keep your phone in your hand',
      '(phone busy)',
      '# Keep your phone in your hand',
      'The motion sensors show that this phone is held, not lying still. Your phone may ask you to allow them. The readings stay on this phone.',
      'actions: [Allow motion → allow_motion]',
    ],
  },
  {
    screen: { name: 'step_up', step: { kind: 'verify', attemptsLeft: 2 }, request: SHORT },
    shows: [
      'Confirm once more',
      '(phone busy)',
      '# Confirm once more',
      'This request needs another confirmation with your screen lock.',
      '(Payee | Ada)',
      'note: Attempts left: 2',
      'actions: [Continue → continue][stop This wasn’t me → report][plain Decline → decline]',
    ],
  },
  {
    screen: { name: 'step_up', step: { kind: 'motion', attemptsLeft: 1 }, request: SHORT },
    more: { seconds: 6 },
    shows: [
      'Keep your phone in your hand',
      '(phone busy)',
      '# Keep your phone in your hand',
      'This request needs proof that the phone is held, not lying still. Hold it or walk with it.',
      '<div class="measure"><progress aria-label="Keep your phone in your hand" max="7"></progress>note: 6 of 7 seconds</div>',
      '<p class="notice" role="alert" hidden></p>',
      '(Payee | Ada)',
      'note: Attempts left: 1',
      'actions: <button type="button" class="button" disabled>Continue → continue</button>[stop This wasn’t me → report][plain Decline → decline]',
    ],
  },
  {
    screen: { name: 'step_up', step: { kind: 'motion', attemptsLeft: 1 }, request: SHORT },
    more: { seconds: 7 },
    shows: [
      'Keep your phone in your hand',
      '(phone busy)',
      '# Keep your phone in your hand',
      'This request needs proof that the phone is held, not lying still. Hold it or walk with it.',
      '<div class="measure"><progress aria-label="Keep your phone in your hand" max="7"></progress>note: 7 of 7 seconds</div>',
      '<p class="notice" role="alert" hidden></p>',
      '(Payee | Ada)',
      'note: Attempts left: 1',
      'actions: [Continue → continue][stop This wasn’t me → report][plain Decline → decline]',
    ],
  },
  {
    screen: {
      name: 'step_up',
      step: { kind: 'motion', attemptsLeft: 1 },
      request: { ...SHORT, display: [] },
    },
    more: { access: 'denied', seconds: 9 },
    shows: [
      'Keep your phone in your hand',
      '(phone busy)',
      '# Keep your phone in your hand',
      'This request needs proof that the phone is held, not lying still. Hold it or walk with it.',
      '<div class="measure" hidden><progress aria-label="Keep your phone in your hand" max="7"></progress>note: 7 of 7 seconds</div>',
      'alert: It asks for the motion sensors, which this browser does not provide or you did not allow. Nothing was approved. Decline the request here, start again on the page, and scan its QR code with the organization’s app.',
      'note: Attempts left: 1',
      'actions: <button type="button" class="button" hidden>Continue → continue</button>[stop This wasn’t me → report][plain Decline → decline]',
    ],
  },
  {
    screen: { name: 'browser_key', request: SHORT },
    shows: [
      'First, a passkey for the browser',
      '(phone busy)',
      '# First, a passkey for the browser',
      'You confirm this request in the browser too. For that, your phone creates another passkey, and then asks you to approve.',
      '(Payee | Ada)',
      'actions: [Continue → continue][stop This wasn’t me → report][plain Decline → decline]',
    ],
  },
  {
    screen: { name: 'awaiting_browser', request: SHORT, notice: null },
    shows: [
      'Now confirm on the computer in front of you',
      '(computer busy)',
      '# Now confirm on the computer in front of you',
      '{Harbor Bank} asks you to confirm there. A second QR code may appear: scan it with this phone too.',
      'note: If the page is open on this phone, return to it and confirm there.',
      '(Payee | Ada)',
      'actions: [stop This wasn’t me → report][plain Decline → decline]',
    ],
  },
  {
    screen: { name: 'awaiting_browser', request: SHORT, notice: 'connection_lost' },
    shows: [
      'Now confirm on the computer in front of you',
      '(computer busy)',
      '# Now confirm on the computer in front of you',
      '{Harbor Bank} asks you to confirm there. A second QR code may appear: scan it with this phone too.',
      'alert: No connection. The page continues by itself when it is back.',
      'note: If the page is open on this phone, return to it and confirm there.',
      '(Payee | Ada)',
      'actions: [stop This wasn’t me → report][plain Decline → decline]',
    ],
  },
  {
    screen: { name: 'working', task: 'setting_up', request: null },
    shows: ['Setting up this phone…', '(spinner busy)', '# Setting up this phone…'],
  },
  {
    screen: { name: 'working', task: 'opening', request: null },
    shows: ['Opening the request…', '(spinner busy)', '# Opening the request…'],
  },
  {
    screen: { name: 'working', task: 'checking', request: null },
    shows: [
      'Checking that the phone is held…',
      '(spinner busy)',
      '# Checking that the phone is held…',
    ],
  },
  {
    screen: { name: 'working', task: 'signing', request: SHORT },
    shows: ['Approving…', '(spinner busy)', '# Approving…', '(Payee | Ada)'],
  },
  {
    screen: { name: 'working', task: 'declining', request: null },
    shows: ['Declining…', '(spinner busy)', '# Declining…'],
  },
  {
    screen: { name: 'working', task: 'removing', request: null },
    shows: ['Removing…', '(spinner busy)', '# Removing…'],
  },
  {
    screen: { name: 'approved', request: SHORT, isSynced: false },
    shows: [
      'Approved',
      '(check good)',
      '# Approved',
      '{Harbor Bank} is completing your request. You can close this page.',
      '(Payee | Ada)',
    ],
  },
  {
    screen: { name: 'approved', request: SHORT, isSynced: true },
    shows: [
      'Approved',
      '(check good)',
      '# Approved',
      '{Harbor Bank} is completing your request. You can close this page.',
      '(Payee | Ada)',
      'note: Your passkey is synced with your other devices. It proves less about this phone than a key that cannot be copied.',
    ],
  },
  {
    screen: { name: 'unreported', request: SHORT, isSynced: false },
    shows: ['Approved', '(check good)', '# Approved', 'No result was reported.', '(Payee | Ada)'],
  },
  {
    screen: { name: 'completed', request: SHORT, outcome: null },
    shows: [
      'Your request is complete',
      '(check good)',
      '# Your request is complete',
      '{Harbor Bank} has completed it. You can close this page.',
      '(Payee | Ada)',
      'actions: [Close → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'completed', request: SHORT, outcome: 'accepted' },
    shows: [
      'Your request is complete',
      '(check good)',
      '# Your request is complete',
      '{Harbor Bank} has completed it. You can close this page.',
      '(Payee | Ada)',
      'actions: [Close → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'completed', request: SHORT, outcome: 'in_review' },
    shows: [
      'Your request was received',
      '(clock calm)',
      '# Your request was received',
      '{Harbor Bank} is reviewing it. You can close this page.',
      '(Payee | Ada)',
      'actions: [Close → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'keys', keys: KEYS, notice: null },
    shows: [
      'Your phones',
      '(phone busy)',
      '# Your phones',
      'These phones can approve requests as you. Remove a phone that you do not recognize.',
      '<div class="key" role="group" aria-label="This phone">(This phone | Added Nov 21, 2026)[stop Remove phone → phone dev_1 dev_3]</div>',
      '<div class="key" role="group" aria-label="Another phone · iPhone">(Another phone · iPhone | Added Oct 2, 2026)(Passkey for the browser | Added Oct 3, 2026)[stop Remove phone → phone dev_2][stop Remove passkey → passkey dev_2]</div>',
      '<div class="key" role="group" aria-label="Another phone · Android">(Another phone · Android | Added Nov 21, 2026)[stop Remove phone → phone dev_3]</div>',
      'actions: [Close → close]<a class="button plain" href="/inbox">Inbox</a>',
    ],
  },
  {
    screen: { name: 'keys', keys: [K2], notice: 'not_verified_by_user' },
    shows: [
      'Your phones',
      '(phone busy)',
      '# Your phones',
      'These phones can approve requests as you. Remove a phone that you do not recognize.',
      'alert: Your phone did not confirm it was you. Nothing was approved. Try again.',
      '<div class="key" role="group" aria-label="Another phone · Android">(Another phone · Android | Added Nov 21, 2026)[stop Remove phone → phone dev_3]</div>',
      'actions: [Close → close]<a class="button plain" href="/inbox">Inbox</a>',
    ],
  },
  {
    screen: { name: 'removal', key: K1, what: 'passkey', also: [] },
    shows: [
      'Remove passkey',
      '(mark warn)',
      '# Remove passkey',
      'The phone can still approve. It creates a new passkey when a request needs one. Confirm with your screen lock.',
      '(Another phone · iPhone | Added Oct 2, 2026)(Passkey for the browser | Added Oct 3, 2026)',
      'actions: [stop Remove passkey → continue][plain Back → keys]',
    ],
  },
  {
    screen: { name: 'removal', key: K0, what: 'phone', also: [K2] },
    shows: [
      'Remove phone',
      '(mark warn)',
      '# Remove phone',
      'It can no longer approve requests as you. This is permanent. Confirm with your screen lock.',
      '(This phone | Added Nov 21, 2026)',
      '<p>This phone added the following phones. They are removed too:</p>',
      '(Another phone · Android | Added Nov 21, 2026)',
      'actions: [stop Remove phone → continue][plain Back → keys]',
    ],
  },
]

for (const { screen, more, shows } of SCREENS) {
  const {
    request: _request,
    keys: _keys,
    ...members
  } = screen as { request?: unknown; keys?: unknown }
  test(`draws ${JSON.stringify({ ...members, ...more })}`, () =>
    assert.deepEqual(drawn(screen, more).split('\n'), shows))
}
