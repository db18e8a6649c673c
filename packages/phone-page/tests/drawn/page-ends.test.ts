import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PageScreen } from '../../src/screen.ts'
import { useSmallDocument } from './small-document.ts'
import { drawn, problem } from './page-scenes.ts'

/*
 * How a session ends, and each problem, with the buttons that lead on.
 * `small-document.ts` has the short forms.
 */

useSmallDocument()

const SCREENS: readonly {
  screen: PageScreen
  more?: Parameters<typeof drawn>[1]
  shows: readonly string[]
}[] = [
  {
    screen: { name: 'ended', end: 'declined', tenant: 'Harbor Bank' },
    shows: [
      'Declined',
      '(cross calm)',
      '# Declined',
      'Nothing was approved.',
      'actions: [Close → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'ended', end: 'reported', tenant: 'Harbor Bank' },
    shows: [
      'Request stopped',
      '(shield stop)',
      '# Request stopped',
      'Nothing was approved. {Harbor Bank} sees that you did not start it. If someone asked you to scan the QR code, contact {Harbor Bank} by a number that you know.',
      'actions: [Close → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'ended', end: 'expired', tenant: 'Harbor Bank' },
    shows: [
      'The request has expired',
      '(clock calm)',
      '# The request has expired',
      'The time for this request is over. Return to the page and start again.',
      'actions: [Close → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'ended', end: 'canceled', tenant: 'Harbor Bank' },
    shows: [
      'The request was canceled',
      '(cross calm)',
      '# The request was canceled',
      'It was stopped before it was complete. Return to the page to start again.',
      'actions: [Close → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'ended', end: 'suspended', tenant: 'Harbor Bank' },
    shows: [
      'No approvals at the moment',
      '(mark warn)',
      '# No approvals at the moment',
      'The organization cannot receive approvals now. Nothing was approved. Contact the organization.',
      'actions: [Close → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'ended', end: 'not_verified', tenant: 'Harbor Bank' },
    shows: [
      'Not verified',
      '(mark warn)',
      '# Not verified',
      'This phone could not prove enough for this request. Nothing was approved. Return to the page to start again.',
      'actions: [Close → close][plain Your phones → keys]',
    ],
  },
  {
    screen: { name: 'ended', end: 'removed', tenant: 'Harbor Bank' },
    shows: [
      'This phone was removed',
      '(check calm)',
      '# This phone was removed',
      'To use it again, open a request and set it up.',
      'actions: [Close → close]',
    ],
  },
  {
    screen: problem('link_incomplete'),
    shows: [
      'This link is not complete',
      '(mark warn)',
      '# This link is not complete',
      'Return to the page that you came from and scan its QR code again.',
      'actions: [Close → close]',
    ],
  },
  {
    screen: problem('qr_code_expired'),
    shows: [
      'This QR code has expired',
      '(mark warn)',
      '# This QR code has expired',
      'QR codes change often. Scan the one that the page shows now.',
      'actions: [Close → close]',
    ],
  },
  {
    screen: problem('claimed_by_other_phone'),
    shows: [
      'Another phone opened this request',
      '(mark warn)',
      '# Another phone opened this request',
      'Only the phone or browser that opened it first can approve it. To use this one, start again on the page.',
      'actions: [Close → close]',
    ],
  },
  {
    screen: problem('start_again'),
    shows: [
      'Start again on the page',
      '(mark warn)',
      '# Start again on the page',
      'This phone is set up. The open request belongs to the former passkey. Start again on the page and scan its QR code.',
      'actions: [Close → close]',
    ],
  },
  {
    screen: problem('session_over'),
    shows: [
      'This request has ended',
      '(mark warn)',
      '# This request has ended',
      'It was approved or declined, or it expired. Return to the page to see the result.',
      'actions: [Close → close]',
    ],
  },
  {
    screen: problem('phone_not_accepted'),
    shows: [
      'This phone cannot approve this request',
      '(mark warn)',
      '# This phone cannot approve this request',
      'If you have approved for this organization before, use the same phone and browser. Otherwise, contact the organization.',
      'actions: [Close → close]',
    ],
  },
  {
    screen: problem('cannot_attest'),
    shows: [
      'This browser cannot approve this request',
      '(mark warn)',
      '# This browser cannot approve this request',
      'The organization accepts only a passkey that proves the model of its phone. Use Chrome on an Android phone, or the organization’s app.',
      'actions: [Close → close]',
    ],
  },
  {
    screen: problem('app_only'),
    shows: [
      'This request needs the app',
      '(mark warn)',
      '# This request needs the app',
      'The organization accepts approvals only in its app. Scan the QR code with the app.',
      'actions: [Close → close]',
    ],
  },
  {
    screen: problem('phone_too_new'),
    shows: [
      'This phone was set up too recently',
      '(mark warn)',
      '# This phone was set up too recently',
      'The organization accepts a phone only some time after its setup. Use a phone that you set up earlier, or contact the organization.',
      'actions: [Close → close]',
    ],
  },
  {
    screen: problem('phone_unknown'),
    shows: [
      'Set up this phone again',
      '(mark warn)',
      '# Set up this phone again',
      'The service no longer recognizes this phone. Set it up again, then continue.',
      'actions: [Set up this phone again → set_up_again]',
    ],
  },
  {
    screen: problem('passkey_missing'),
    shows: [
      'Your phone did not confirm it was you',
      '(mark warn)',
      '# Your phone did not confirm it was you',
      'Nothing was approved. Try again. If you deleted the passkey, set up this phone again.',
      'actions: [Try again → retry][plain Set up this phone again → set_up_again]',
    ],
  },
  {
    screen: problem('not_created'),
    shows: [
      'No passkey was created',
      '(mark warn)',
      '# No passkey was created',
      'You closed the prompt, or this browser is inside an app without passkeys. Turn on a screen lock and try again, or open the link in Safari or Chrome.',
      '<p class="link" dir="ltr" translate="no">https://bond.example/bond?session_id=sess_1</p>',
      'actions: [Try again → retry][plain Copy link]',
    ],
  },
  {
    screen: problem('open_in_browser'),
    shows: [
      'Open this link in Safari or Chrome',
      '(mark warn)',
      '# Open this link in Safari or Chrome',
      'This browser cannot use passkeys, like many browsers inside other apps. Copy the link and open it there, or scan the QR code with your phone’s camera.',
      '<p class="link" dir="ltr" translate="no">https://bond.example/bond?session_id=sess_1</p>',
      'actions: [Copy link]',
    ],
  },
  {
    screen: problem('storage_missing'),
    shows: [
      'Open this link in Safari or Chrome',
      '(mark warn)',
      '# Open this link in Safari or Chrome',
      'This browser cannot store your setup.',
      '<p class="link" dir="ltr" translate="no">https://bond.example/bond?session_id=sess_1</p>',
      'actions: [Copy link]',
    ],
  },
  {
    screen: problem('storage_unavailable'),
    shows: [
      'This browser cannot store your setup',
      '(mark warn)',
      '# This browser cannot store your setup',
      'Try again. If it happens again, close private browsing, or allow this site to store data.',
      'actions: [Try again → retry]',
    ],
  },
  {
    screen: problem('app_required'),
    shows: [
      'This request needs the app',
      '(mark warn)',
      '# This request needs the app',
      'Nothing was approved. Decline the request here, start again on the page, and scan its QR code with the organization’s app.',
      'actions: [Decline → decline][stop This wasn’t me → report]',
    ],
  },
  {
    screen: problem('offline'),
    shows: [
      'No connection',
      '(mark warn)',
      '# No connection',
      'Check your connection, then try again. The request stays open for a short time.',
      'actions: [Try again → retry]',
    ],
  },
  {
    screen: problem('busy'),
    shows: [
      'The service is busy',
      '(mark warn)',
      '# The service is busy',
      'Wait a few seconds, then try again.',
      'actions: [Try again → retry]',
    ],
  },
  {
    screen: problem('wrong_service'),
    shows: [
      'This link belongs to another service',
      '(mark warn)',
      '# This link belongs to another service',
      'Return to the page that you came from and scan its QR code again.',
      'actions: [Close → close]',
    ],
  },
  {
    screen: problem('unexpected'),
    shows: [
      'Something went wrong',
      '(mark warn)',
      '# Something went wrong',
      'Nothing was approved. Try again. If it happens again, start over on the page.',
      'actions: [Try again → retry]',
    ],
  },
  {
    screen: problem('app_required', { need: 'passport' }),
    shows: [
      'This request needs the app',
      '(mark warn)',
      '# This request needs the app',
      'It asks for your passport’s chip, which a browser cannot read.',
      'Nothing was approved. Decline the request here, start again on the page, and scan its QR code with the organization’s app.',
      'actions: [Decline → decline][stop This wasn’t me → report]',
    ],
  },
  {
    screen: problem('app_required', { need: 'carrier', requestId: 'req_1' }),
    shows: [
      'This request needs the app',
      '(mark warn)',
      '# This request needs the app',
      'It asks your mobile network to confirm the phone number, which a browser cannot do.',
      'Nothing was approved. Decline the request here, start again on the page, and scan its QR code with the organization’s app.',
      'note: Reference: {req_1}',
      'actions: [Decline → decline][stop This wasn’t me → report]',
    ],
  },
  {
    screen: problem('app_required', { need: 'motion' }),
    shows: [
      'This request needs the app',
      '(mark warn)',
      '# This request needs the app',
      'It asks for the motion sensors, which this browser does not provide or you did not allow.',
      'Nothing was approved. Decline the request here, start again on the page, and scan its QR code with the organization’s app.',
      'actions: [Decline → decline][stop This wasn’t me → report]',
    ],
  },
  {
    screen: problem('app_required', { need: 'other' }),
    shows: [
      'This request needs the app',
      '(mark warn)',
      '# This request needs the app',
      'It asks for a proof that a browser cannot give.',
      'Nothing was approved. Decline the request here, start again on the page, and scan its QR code with the organization’s app.',
      'actions: [Decline → decline][stop This wasn’t me → report]',
    ],
  },
  {
    screen: problem('app_only', { appLink: 'bond://bond' }),
    shows: [
      'This request needs the app',
      '(mark warn)',
      '# This request needs the app',
      'The organization accepts approvals only in its app. Scan the QR code with the app.',
      'actions: <a class="button" href="bond://bond">Open the app instead</a>',
    ],
  },
  {
    screen: problem('cannot_attest', { appLink: 'bond://bond' }),
    shows: [
      'This browser cannot approve this request',
      '(mark warn)',
      '# This browser cannot approve this request',
      'The organization accepts only a passkey that proves the model of its phone. Use Chrome on an Android phone, or the organization’s app.',
      'actions: <a class="button" href="bond://bond">Open the app instead</a>',
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
