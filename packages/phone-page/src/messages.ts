import type { ProblemKind } from './problem.ts'
import type { End, Notice, Task } from './screen.ts'

/** A heading and what to do. */
interface Text {
  readonly title: string
  readonly body: string
}

/** All words of the page. A language is another object of this type. */
export interface Messages {
  readonly pageTitle: string
  readonly desktop: Text & { readonly codeLabel: string }
  readonly setup: Text & {
    readonly points: readonly string[]
    readonly action: string
    readonly openApp: string
  }
  readonly request: {
    readonly title: (tenant: string) => string
    readonly page: string
    readonly pageUnknown: string
    readonly pageNote: string
    readonly purpose: string
    readonly details: string
    readonly question: string
    readonly approve: string
    readonly report: string
    readonly decline: string
    readonly timeLeft: (time: string) => string
    readonly allowMotion: string
    readonly motionNote: string
  }
  readonly notices: Readonly<Record<Notice, string>>
  readonly stepUp: {
    readonly verifyAgain: Text
    readonly motion: Text
    readonly allowMotion: string
    readonly recorded: (seconds: number, needed: number) => string
    readonly attemptsLeft: (count: number) => string
    readonly action: string
  }
  readonly tasks: Readonly<Record<Task, string>>
  readonly approved: { readonly title: string; readonly body: (tenant: string) => string }
  readonly completed: { readonly title: string; readonly body: (tenant: string) => string }
  readonly ends: Readonly<Record<End, { title: string; body: (tenant: string) => string }>>
  readonly problems: Readonly<Record<ProblemKind, Text>>
  readonly retry: string
  readonly setUpAgain: string
  readonly reference: (id: string) => string
}

const NOTHING_APPROVED = 'Nothing was approved.'

/** English. */
export const en: Messages = {
  pageTitle: 'Approve on your phone',
  desktop: {
    title: 'Continue on your phone',
    body: 'This page approves requests with a phone. Scan the QR code with your phone’s camera.',
    codeLabel: 'QR code that opens this page on a phone',
  },
  setup: {
    title: 'Set up this phone',
    body: 'You do this once. Your phone then approves requests with its screen lock.',
    points: [
      'Your phone creates a passkey for this service.',
      'Each approval asks for your fingerprint, face, or PIN.',
      'Your fingerprint and face stay on this phone.',
    ],
    action: 'Set up this phone',
    openApp: 'Open the app instead',
  },
  request: {
    title: (tenant) => `${tenant} asks for your approval`,
    page: 'Page',
    pageUnknown: 'Not known',
    pageNote: 'Reported by the browser that shows the QR code.',
    purpose: 'Purpose',
    details: 'Request details',
    question: 'Approve only if you started this request yourself, just now, on that page.',
    approve: 'Approve',
    report: 'This wasn’t me',
    decline: 'Decline',
    timeLeft: (time) => `${time} left`,
    allowMotion: 'Allow motion',
    motionNote: 'Optional. Motion shows that a person is carrying this phone.',
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
      body: 'This request needs proof that a person is carrying the phone. Hold it or walk with it.',
    },
    allowMotion: 'Allow motion',
    recorded: (seconds, needed) => `${Math.min(seconds, needed)} of ${needed} seconds`,
    attemptsLeft: (count) => (count === 1 ? 'Last attempt' : `${count} attempts left`),
    action: 'Continue',
  },
  tasks: {
    setting_up: 'Setting up this phone…',
    opening: 'Opening the request…',
    signing: 'Approving…',
    declining: 'Declining…',
  },
  approved: {
    title: 'Approved',
    body: (tenant) => `${tenant} is completing your request. You can close this page.`,
  },
  completed: {
    title: 'Your request is complete',
    body: (tenant) => `${tenant} has completed it. You can close this page.`,
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
      body: (tenant) =>
        `${tenant} did not complete it in time. Return to the page and start again.`,
    },
    canceled: {
      title: 'The request was canceled',
      body: () => `${NOTHING_APPROVED} Return to the page to start again.`,
    },
    not_verified: {
      title: 'Not verified',
      body: () => `This phone could not prove enough for this request. ${NOTHING_APPROVED}`,
    },
  },
  problems: {
    link_incomplete: {
      title: 'This link is not complete',
      body: 'Return to the page that you came from and scan its QR code again.',
    },
    qr_code_expired: {
      title: 'This QR code has expired',
      body: 'QR codes change every minute. Scan the one that the page shows now.',
    },
    claimed_by_other_phone: {
      title: 'Another phone opened this request',
      body: 'Only the first phone can approve it. If that was not your phone, start again on the page.',
    },
    session_over: {
      title: 'This request has ended',
      body: 'It was approved, declined, or it expired. Return to the page to see the result.',
    },
    phone_not_accepted: {
      title: 'This phone cannot approve this request',
      body: 'The organization accepts only certain phones or its own app. Contact the organization.',
    },
    phone_unknown: {
      title: 'Set up this phone again',
      body: 'The service no longer recognizes this phone. Set it up again, then continue.',
    },
    passkey_missing: {
      title: 'Your phone did not confirm it was you',
      body: `${NOTHING_APPROVED} Try again. If you deleted the passkey, set up this phone again.`,
    },
    passkey_unsupported: {
      title: 'This browser cannot create a passkey',
      body: 'Turn on a screen lock, or open the link in your phone’s main browser.',
    },
    storage_unavailable: {
      title: 'This browser cannot store your setup',
      body: 'Close private browsing, then open the link again.',
    },
    app_required: {
      title: 'This request needs the app',
      body: 'It asks for a proof that a browser cannot give, such as a passport. Use the organization’s app.',
    },
    offline: {
      title: 'No connection',
      body: 'Check your connection, then try again. The request is still open for a short time.',
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
  reference: (id) => `Reference: ${id}`,
}
