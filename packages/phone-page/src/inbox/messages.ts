import inboxOnly from './en.json' with { type: 'json' }
import { en, type Messages } from '../messages/en.ts'

export type InboxMessages = Messages & Readonly<Record<keyof typeof inboxOnly, string>>

/** `en.json` has what only the inbox says, and `inbox-words.json` its other languages. */
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
