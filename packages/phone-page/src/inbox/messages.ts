import { en, type Messages } from '../messages/en.ts'

/** What only the inbox says, in English. `inbox-words.json` has the other languages. */
export const inboxOnly = {
  'inbox.waiting': 'Requests waiting: {count}',
  'inbox.body': 'To read them, confirm with your screen lock. This approves nothing.',
  'inbox.empty': 'New requests appear here by themselves.',
  'inbox.open': 'Open',
  'inbox.newer': 'Show new requests',
  'inbox.more': 'Show more',
  'inbox.alike': '{number} of {count} like this, sent within {time}',
  'inbox.paused': 'You reported a request from {tenant}. It cannot ask you again until {time}.',
  'inbox.resume': 'Allow requests again',
  'inbox.none':
    'This phone has no inbox yet. Your first approval for an organization is always on its page.',
  'inbox.question': 'Approve only if you expect this request and agree with every detail.',
  'inbox.reported':
    'Nothing was approved. {tenant} sees that you did not expect this request, and cannot ask you again for now.',
  'inbox.over': 'It was approved, declined, or canceled, or its time is over.',
  'inbox.push.on': 'Turn on notifications',
  'inbox.push.off': 'Turn off notifications',
  'inbox.push.blocked':
    'This browser blocks notifications. Allow them for this site in its settings.',
} as const

export type InboxMessages = Messages & Readonly<Record<keyof typeof inboxOnly, string>>

export const inboxEn: InboxMessages = { ...en, ...inboxOnly }

/**
 * The words as they fit a request that comes from no page: there is none to return to, and no QR
 * code.
 */
export function inboxMessages(messages: InboxMessages): InboxMessages {
  const over = messages['inbox.over']
  const nothing = messages['end.declined.body']
  const retry = messages['problem.busy.body']
  return {
    ...messages,
    'page.title': messages['inbox.title'],
    'action.close': messages['action.back'],
    'request.question.no_page': messages['inbox.question'],
    'end.reported.body': messages['inbox.reported'],
    'end.expired.body': nothing,
    'end.not_verified.body': nothing,
    'end.canceled.body': over,
    'problem.session_over.body': over,
    'problem.qr_code_expired.title': messages['problem.session_over.title'],
    'problem.qr_code_expired.body': over,
    'problem.claimed_by_other_phone.body': over,
    'problem.app_only.body': messages['need.other'],
    'problem.app_required.body': nothing,
    'problem.offline.body': retry,
    'problem.unexpected.body': retry,
  }
}
