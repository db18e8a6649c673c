/**
 * All words of the page, in English. A language is a file with the same keys in `languages/`. Words
 * in braces are placeholders.
 */
export const en = {
  'page.title': 'Approve on your phone',
  'desktop.title': 'Continue on your phone',
  'desktop.body':
    'This page approves requests with a phone. Scan the QR code with your phone’s camera.',
  'desktop.code': 'QR code that opens this page on a phone',
  'setup.title': 'Set up this phone',
  'setup.passkey':
    'First, your phone creates a passkey, which you unlock with your fingerprint, face, or PIN. Then you see the request.',
  'setup.known':
    'This request needs the passkey with which you approved before. Confirm it, then you see the request.',
  'setup.recover': 'I have used this phone before',
  'setup.recover.failed': 'Your phone did not confirm a passkey that the service knows.',
  'setup.app': 'Open the app instead',
  'setup.again': 'Set up this phone again',
  'new_key.title': 'This request needs a new passkey',
  'new_key.body':
    '{tenant} accepts only a passkey that proves the model of its phone. Continue to create one.',
  'renew.title': 'Confirm this phone',
  'renew.body':
    'The registration of this phone is due for renewal. Confirm it with your screen lock. This approves nothing.',
  'request.title': '{tenant} asks for your approval',
  'request.details': 'Request details',
  'request.purpose': 'Purpose',
  'request.page': 'Page',
  'request.page.unknown': 'Not known',
  'request.page.note': 'Reported by the browser that shows the QR code.',
  'request.requester': 'Requested by',
  'requester.person': 'Person',
  'requester.service': 'Service',
  'requester.agent': 'Software agent',
  'request.requester.note': 'As stated by {tenant}.',
  'request.question': 'Approve only if you started this request yourself, just now, on that page.',
  'request.question.no_page': 'Approve only if you started this request yourself, just now.',
  'request.read_all': 'Scroll down to read the whole request.',
  'request.time': '{time} left',
  'action.approve': 'Approve',
  'action.report': 'This wasn’t me',
  'action.decline': 'Decline',
  'action.continue': 'Continue',
  'action.retry': 'Try again',
  'action.copy': 'Copy link',
  'action.close': 'Close',
  'action.back': 'Back',
  'motion.allow': 'Allow motion',
  'motion.note':
    'The motion sensors show that this phone is held, not lying still. Your phone may ask you to allow them. The readings stay on this phone.',
  'notice.another_request': 'This is not the request that this tab showed before. Read it again.',
  'notice.not_verified_by_user':
    'Your phone did not confirm it was you. Nothing was approved. Try again.',
  'notice.connection_lost': 'No connection. The page continues by itself when it is back.',
  'notice.browser_not_confirmed':
    'The request was not confirmed on the page. Approve again only if you are still there.',
  'step_up.verify.title': 'Confirm once more',
  'step_up.verify.body': 'This request needs another confirmation with your screen lock.',
  'step_up.motion.title': 'Keep your phone in your hand',
  'step_up.motion.body':
    'This request needs proof that the phone is held, not lying still. Hold it or walk with it.',
  'step_up.recorded': '{seconds} of {needed} seconds',
  'step_up.attempts': 'Attempts left: {count}',
  'browser_key.title': 'First, a passkey for the browser',
  'browser_key.body':
    'You confirm this request in the browser too. For that, your phone creates another passkey, and then asks you to approve.',
  'browser.title': 'Now confirm on the computer in front of you',
  'browser.body':
    '{tenant} asks you to confirm there. A second QR code may appear: scan it with this phone too.',
  'browser.same_phone': 'If the page is open on this phone, return to it and confirm there.',
  'task.setting_up': 'Setting up this phone…',
  'task.opening': 'Opening the request…',
  'task.checking': 'Checking that the phone is held…',
  'task.signing': 'Approving…',
  'task.declining': 'Declining…',
  'task.removing': 'Removing…',
  'approved.title': 'Approved',
  'approved.body': '{tenant} is completing your request. You can close this page.',
  'approved.synced':
    'Your passkey is synced with your other devices. It proves less about this phone than a key that cannot be copied.',
  'unreported.body': 'No result was reported.',
  'completed.title': 'Your request is complete',
  'completed.body': '{tenant} has completed it. You can close this page.',
  'completed.received.title': 'Your request was received',
  'completed.in_review.body': '{tenant} is reviewing it. You can close this page.',
  'end.declined.title': 'Declined',
  'end.declined.body': 'Nothing was approved.',
  'end.reported.title': 'Request stopped',
  'end.reported.body':
    'Nothing was approved. {tenant} sees that you did not start it. If someone asked you to scan the QR code, contact {tenant} by a number that you know.',
  'end.expired.title': 'The request has expired',
  'end.expired.body': 'The time for this request is over. Return to the page and start again.',
  'end.canceled.title': 'The request was canceled',
  'end.canceled.body': 'It was stopped before it was complete. Return to the page to start again.',
  'end.suspended.title': 'No approvals at the moment',
  'end.suspended.body':
    'The organization cannot receive approvals now. Nothing was approved. Contact the organization.',
  'end.not_verified.title': 'Not verified',
  'end.not_verified.body':
    'This phone could not prove enough for this request. Nothing was approved. Return to the page to start again.',
  'end.removed.title': 'This phone was removed',
  'end.removed.body': 'To use it again, open a request and set it up.',
  'keys.title': 'Your phones',
  'keys.body':
    'These phones can approve requests as you. Remove a phone that you do not recognize.',
  'inbox.title': 'Inbox',
  'keys.own': 'This phone',
  'keys.other': 'Another phone',
  'keys.added': 'Added {date}',
  'keys.passkey': 'Passkey for the browser',
  'keys.remove': 'Remove phone',
  'keys.remove_passkey': 'Remove passkey',
  'removal.phone.body':
    'It can no longer approve requests as you. This is permanent. Confirm with your screen lock.',
  'removal.phone.also': 'This phone added the following phones. They are removed too:',
  'removal.passkey.body':
    'The phone can still approve. It creates a new passkey when a request needs one. Confirm with your screen lock.',
  'problem.link_incomplete.title': 'This link is not complete',
  'problem.link_incomplete.body':
    'Return to the page that you came from and scan its QR code again.',
  'problem.qr_code_expired.title': 'This QR code has expired',
  'problem.qr_code_expired.body': 'QR codes change often. Scan the one that the page shows now.',
  'problem.claimed_by_other_phone.title': 'Another phone opened this request',
  'problem.claimed_by_other_phone.body':
    'Only the phone or browser that opened it first can approve it. To use this one, start again on the page.',
  'problem.start_again.title': 'Start again on the page',
  'problem.start_again.body':
    'This phone is set up. The open request belongs to the former passkey. Start again on the page and scan its QR code.',
  'problem.session_over.title': 'This request has ended',
  'problem.session_over.body':
    'It was approved or declined, or it expired. Return to the page to see the result.',
  'problem.phone_not_accepted.title': 'This phone cannot approve this request',
  'problem.phone_not_accepted.body':
    'If you have approved for this organization before, use the same phone and browser. Otherwise, contact the organization.',
  'problem.cannot_attest.title': 'This browser cannot approve this request',
  'problem.cannot_attest.body':
    'The organization accepts only a passkey that proves the model of its phone. Use Chrome on an Android phone, or the organization’s app.',
  'problem.app_only.title': 'This request needs the app',
  'problem.app_only.body':
    'The organization accepts approvals only in its app. Scan the QR code with the app.',
  'problem.phone_too_new.title': 'This phone was set up too recently',
  'problem.phone_too_new.body':
    'The organization accepts a phone only some time after its setup. Use a phone that you set up earlier, or contact the organization.',
  'problem.phone_unknown.title': 'Set up this phone again',
  'problem.phone_unknown.body':
    'The service no longer recognizes this phone. Set it up again, then continue.',
  'problem.passkey_missing.title': 'Your phone did not confirm it was you',
  'problem.passkey_missing.body':
    'Nothing was approved. Try again. If you deleted the passkey, set up this phone again.',
  'problem.not_created.title': 'No passkey was created',
  'problem.not_created.body':
    'You closed the prompt, or this browser is inside an app without passkeys. Turn on a screen lock and try again, or open the link in Safari or Chrome.',
  'problem.open_in_browser.title': 'Open this link in Safari or Chrome',
  'problem.open_in_browser.body':
    'This browser cannot use passkeys, like many browsers inside other apps. Copy the link and open it there, or scan the QR code with your phone’s camera.',
  'problem.storage_unavailable.title': 'This browser cannot store your setup',
  'problem.storage_unavailable.body':
    'Try again. If it happens again, close private browsing, or allow this site to store data.',
  'problem.app_required.title': 'This request needs the app',
  'problem.app_required.body':
    'Nothing was approved. Decline the request here, start again on the page, and scan its QR code with the organization’s app.',
  'problem.offline.title': 'No connection',
  'problem.offline.body':
    'Check your connection, then try again. The request stays open for a short time.',
  'problem.busy.title': 'The service is busy',
  'problem.busy.body': 'Wait a few seconds, then try again.',
  'problem.wrong_service.title': 'This link belongs to another service',
  'problem.wrong_service.body': 'Return to the page that you came from and scan its QR code again.',
  'problem.unexpected.title': 'Something went wrong',
  'problem.unexpected.body':
    'Nothing was approved. Try again. If it happens again, start over on the page.',
  'problem.reference': 'Reference: {id}',
  'need.passport': 'It asks for your passport’s chip, which a browser cannot read.',
  'need.carrier':
    'It asks your mobile network to confirm the phone number, which a browser cannot do.',
  'need.motion':
    'It asks for the motion sensors, which this browser does not provide or you did not allow.',
  'need.other': 'It asks for a proof that a browser cannot give.',
} as const

export type MessageKey = keyof typeof en
/** The page's words in one language. */
export type Messages = Readonly<Record<MessageKey, string>>
