import type { CompletionOutcome } from '@bonded/contract'
import type { ProblemKind } from './session/problem.ts'
import type { End, Notice, Task } from './session/screen.ts'

/** A heading and what to do. */
interface Text {
  readonly title: string
  readonly body: string
}

/** All words of the app. Those that the phone page has too are the same. */
export interface Messages {
  readonly appTitle: string
  readonly setup: Text & { readonly points: readonly string[]; readonly action: string }
  readonly waitingRequest: string
  readonly home: Text & { readonly scan: string; readonly phones: string }
  readonly scanner: Text & {
    readonly unreadable: string
    readonly permission: string
    readonly allow: string
    readonly settings: string
  }
  readonly request: {
    readonly title: (tenant: string) => string
    readonly page: string
    readonly pageUnknown: string
    readonly pageNote: string
    readonly requester: string
    readonly requesterNote: (kind: string, tenant: string) => string
    readonly purpose: string
    readonly details: string
    /** How many people must approve, of those who are asked. */
    readonly quorum: (needed: number, of: number) => string
    readonly question: string
    /** Where the page is not known. */
    readonly questionNoPage: string
    /** While a part of the request has not been in view. */
    readonly readAll: string
    readonly approve: string
    readonly report: string
    readonly decline: string
    readonly timeLeft: (time: string) => string
  }
  readonly notices: Readonly<Record<Notice, string>>
  readonly stepUp: {
    readonly verifyAgain: Text
    readonly motion: Text
    readonly recorded: (seconds: number, needed: number) => string
    readonly attemptsLeft: (count: number) => string
    readonly action: string
  }
  readonly awaitingBrowser: {
    readonly title: string
    readonly body: (tenant: string) => string
    readonly samePhone: string
  }
  readonly tasks: Readonly<Record<Task, string>>
  readonly approved: { readonly title: string; readonly body: (tenant: string) => string }
  /** By what the organization's backend said. */
  readonly completed: Readonly<
    Record<CompletionOutcome, { title: string; body: (tenant: string) => string }>
  >
  readonly ends: Readonly<Record<End, { title: string; body: (tenant: string) => string }>>
  readonly phones: Text & {
    readonly own: string
    readonly formats: Readonly<Record<string, string>>
    readonly registered: (date: string) => string
    readonly browserKey: string
    readonly removeBrowserKey: string
    readonly remove: string
  }
  readonly removal: {
    readonly title: string
    readonly other: string
    readonly own: string
    readonly also: (phones: string) => string
    readonly action: string
  }
  /** The name of the passkey for the browser, in the user's password manager. */
  readonly passkey: (date: string) => string
  readonly prompts: {
    readonly approve: (tenant: string) => string
    readonly remove: string
    readonly unlock: string
    readonly usePasscode: string
  }
  readonly problems: Readonly<Record<ProblemKind, Text>>
  readonly retry: string
  readonly setUpAgain: string
  readonly done: string
  readonly cancel: string
  readonly reference: (id: string) => string
}

const NOTHING_APPROVED = 'Nothing was approved.'

/** English. */
const REQUESTERS: Readonly<Record<string, string>> = {
  person: 'Person',
  service: 'Service',
  agent: 'Software agent',
}

export const en: Messages = {
  appTitle: 'Approve on your phone',
  setup: {
    title: 'Set up this phone',
    body: 'You do this once. Your phone then approves requests with its screen lock.',
    points: [
      'Your phone creates a key for this service in its secure hardware.',
      'Each approval asks for your fingerprint, face, or PIN.',
      'Your fingerprint and face stay on this phone.',
    ],
    action: 'Set up this phone',
  },
  waitingRequest: 'The request opens after the setup.',
  home: {
    title: 'Ready to approve',
    body: 'Scan the QR code that the page shows on your computer.',
    scan: 'Scan a QR code',
    phones: 'Your phones',
  },
  scanner: {
    title: 'Scan the QR code',
    body: 'Hold your phone so that the QR code fills the frame.',
    unreadable: 'This QR code is not an approval request. Scan the one that the page shows.',
    permission: 'The app needs the camera to scan QR codes. It stores no pictures.',
    allow: 'Allow the camera',
    settings: 'Open the settings',
  },
  request: {
    title: (tenant) => `${tenant} asks for your approval`,
    page: 'Page',
    pageUnknown: 'Not known',
    pageNote: 'Reported by the browser that shows the QR code.',
    requester: 'Requested by',
    requesterNote: (kind, tenant) => {
      const what = Object.hasOwn(REQUESTERS, kind) ? `${REQUESTERS[kind]} · ` : ''
      return `${what}As stated by ${tenant}.`
    },
    purpose: 'Purpose',
    details: 'Request details',
    quorum: (needed, of) => `${needed} of ${of} people must approve. You are one of them.`,
    question: 'Approve only if you started this request yourself, just now, on that page.',
    questionNoPage: 'Approve only if you started this request yourself, just now.',
    readAll: 'Scroll down to read the whole request.',
    approve: 'Approve',
    report: 'This wasn’t me',
    decline: 'Decline',
    timeLeft: (time) => `${time} left`,
  },
  notices: {
    not_verified_by_user: 'Your phone did not confirm it was you. Nothing was approved. Try again.',
    connection_lost: 'No connection. Nothing was approved. Try again.',
  },
  stepUp: {
    verifyAgain: {
      title: 'Confirm once more',
      body: 'This request needs another confirmation with your screen lock.',
    },
    motion: {
      title: 'Keep your phone in your hand',
      body: 'This request needs proof that the phone is held, not lying still. Hold it or walk with it.',
    },
    recorded: (seconds, needed) => `${Math.min(seconds, needed)} of ${needed} seconds`,
    attemptsLeft: (count) => `Attempts left: ${count}`,
    action: 'Continue',
  },
  awaitingBrowser: {
    title: 'Now confirm on the computer in front of you',
    body: (tenant) =>
      `${tenant} asks you to confirm there. A second QR code may appear: scan it with this phone too.`,
    samePhone: 'If the page is open on this phone, return to it and confirm there.',
  },
  tasks: {
    setting_up: 'Setting up this phone…',
    opening: 'Opening the request…',
    checking: 'Checking that the phone is held…',
    creating_passkey: 'Creating a passkey for the browser. Your phone then asks you to approve…',
    signing: 'Approving…',
    declining: 'Declining…',
    listing: 'Loading your phones…',
    removing: 'Removing the phone…',
  },
  approved: {
    title: 'Approved',
    body: (tenant) => `${tenant} is completing your request. You can close this app.`,
  },
  completed: {
    accepted: {
      title: 'Your request is complete',
      body: (tenant) => `${tenant} has completed it. You can close this app.`,
    },
    in_review: {
      title: 'Your request was received',
      body: (tenant) => `${tenant} is reviewing it. You can close this app.`,
    },
  },
  ends: {
    declined: { title: 'Declined', body: () => NOTHING_APPROVED },
    reported: {
      title: 'Request stopped',
      body: (tenant) =>
        `${NOTHING_APPROVED} ${tenant} sees that you did not start it. If someone asked you to scan the QR code, contact ${tenant} by a number that you know.`,
    },
    expired: {
      title: 'The request has expired',
      body: () => 'The time for this request is over. Return to the page and start again.',
    },
    unreported: {
      title: 'Approved',
      body: () => 'No result was reported.',
    },
    canceled: {
      title: 'The request was canceled',
      body: () => 'It was stopped before it was complete. Return to the page to start again.',
    },
    decided: {
      title: 'This request has ended',
      body: () => 'It has been decided.',
    },
    suspended: {
      title: 'No approvals at the moment',
      body: () =>
        `The organization cannot receive approvals now. ${NOTHING_APPROVED} Contact the organization.`,
    },
    not_verified: {
      title: 'Not verified',
      body: () =>
        `This phone could not prove enough for this request. ${NOTHING_APPROVED} Return to the page to start again.`,
    },
  },
  phones: {
    title: 'Your phones',
    body: 'These phones can approve requests as you. Remove a phone that you do not recognize.',
    own: 'this phone',
    formats: {
      'apple-app-attest': 'iPhone',
      'android-key': 'Android phone',
      webauthn: 'Browser passkey',
      software: 'Test phone',
    },
    registered: (date) => `Set up on ${date}`,
    browserKey: 'Has a passkey for the browser',
    removeBrowserKey: 'Remove only the browser passkey',
    remove: 'Remove',
  },
  removal: {
    title: 'Remove this phone?',
    other: 'It can no longer approve requests as you. You cannot undo this.',
    own: 'This phone can no longer approve requests. To use it again, set it up as a new phone.',
    also: (phones) => `It added these phones, which are removed too: ${phones}.`,
    action: 'Remove phone',
  },
  passkey: (date) => `Approvals, ${date}`,
  prompts: {
    approve: (tenant) => `Approve the request of ${tenant}`,
    remove: 'Remove the phone',
    unlock: 'Unlock the key of this phone',
    usePasscode: 'Use passcode',
  },
  problems: {
    link_incomplete: {
      title: 'This link is not complete',
      body: 'Return to the page that you came from and scan its QR code again.',
    },
    qr_code_expired: {
      title: 'This QR code has expired',
      body: 'QR codes change often. Scan the one that the page shows now.',
    },
    claimed_by_other_phone: {
      title: 'Another phone opened this request',
      body: 'Only the phone or browser that opened it first can approve it. To use this one, start again on the page.',
    },
    session_over: {
      title: 'This request has ended',
      body: 'It was approved or declined, or it expired. Return to the page to see the result.',
    },
    phone_not_accepted: {
      title: 'This phone cannot approve this request',
      body: 'The organization accepts only certain phones or its own app. Contact the organization.',
    },
    phone_too_new: {
      title: 'This phone was set up too recently',
      body: 'The organization accepts a phone only some time after its setup. Use a phone that you set up earlier, or contact the organization.',
    },
    phone_unknown: {
      title: 'Set up this phone again',
      body: 'The service no longer recognizes this phone. Set it up again, then continue.',
    },
    phone_unsupported: {
      title: 'This phone cannot create a secure key',
      body: 'The app needs a phone with secure hardware. It does not run in a simulator.',
    },
    screen_lock_missing: {
      title: 'Turn on a screen lock',
      body: 'The app approves with your fingerprint, face, or PIN. Set one up in the phone’s settings.',
    },
    proof_unsupported: {
      title: 'This request needs another app',
      body: 'It asks for a proof that this app cannot give, such as a passport. Use the organization’s app.',
    },
    not_verified: {
      title: 'Your phone did not confirm it was you',
      body: `${NOTHING_APPROVED} Try again.`,
    },
    offline: {
      title: 'No connection',
      body: 'Check your connection, then try again. The request stays open for a short time.',
    },
    busy: {
      title: 'The service is busy',
      body: 'Wait a few seconds, then try again.',
    },
    wrong_service: {
      title: 'This link belongs to another service',
      body: 'Return to the page that you came from and scan its QR code again.',
    },
    unexpected: {
      title: 'Something went wrong',
      body: `${NOTHING_APPROVED} Try again. If it happens again, start over on the page.`,
    },
  },
  retry: 'Try again',
  setUpAgain: 'Set up this phone again',
  done: 'Done',
  cancel: 'Cancel',
  reference: (id) => `Reference: ${id}`,
}
