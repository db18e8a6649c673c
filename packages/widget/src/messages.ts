import type { PublicEndedReason } from '@bonded/contract'
import type { UnavailableReason } from './outcome.ts'
import type { ScreenName } from './screen.ts'

/** The text of a screen: a title, and a sentence with the next step. */
interface ScreenText {
  readonly title: string
  readonly body: string
}

/** All texts of the widget. A locale is another object of this type. */
export interface Messages {
  readonly screens: Record<ScreenName, ScreenText>
  readonly label: string
  readonly codeLabel: string
  readonly touchBody: string
  readonly handoff: string
  readonly otherPhone: string
  readonly cannotScan: string
  readonly renewing: string
  readonly timeLeft: (time: string) => string
}

const nothingApproved = 'Nothing was approved.'

/** The screen for each ended reason. */
export const ENDED_SCREENS: Record<PublicEndedReason, ScreenName> = {
  user_declined: 'declined',
  user_unexpected: 'unexpected',
  not_verified: 'not_verified',
  killed: 'killed',
}

/** The screen for each reason for which the widget closes. */
export const UNAVAILABLE_SCREENS: Record<UnavailableReason, ScreenName> = {
  network: 'unreachable',
  container_hidden: 'obstructed',
  key_invalid: 'not_set_up',
  origin_not_allowed: 'not_set_up',
  key_of_another_tenant: 'not_set_up',
  key_out_of_scope: 'not_set_up',
  service_refused: 'not_set_up',
  session_not_found: 'unavailable',
  session_endpoint_failed: 'unavailable',
  session_mismatch: 'unavailable',
  completion_secret_exposed: 'unavailable',
  unknown_answer: 'unavailable',
  superseded: 'unavailable',
  internal_error: 'unavailable',
}

/** English. */
export const en: Messages = {
  label: 'Phone confirmation',
  codeLabel: 'QR code to scan with your phone',
  touchBody: 'Open the request on this phone, or scan the code with another one.',
  handoff: 'Continue on this phone',
  otherPhone: 'Or scan with another phone',
  cannotScan: 'Can’t scan?',
  renewing: 'Renewing the code…',
  timeLeft: (time) => `${time} left`,
  screens: {
    starting: { title: 'One moment', body: 'Preparing your confirmation.' },
    waiting: {
      title: 'Confirm with your phone',
      body: 'Scan this code, then approve the request on your phone.',
    },
    scanned: {
      title: 'Check your phone',
      body: 'Read the request on your phone, and approve it there if it is yours.',
    },
    evaluating: { title: 'Verifying', body: 'Your phone is answering. This takes a few seconds.' },
    step_up: {
      title: 'One more step',
      body: 'Your phone needs another proof. Follow the instructions there.',
    },
    bonded: { title: 'Confirmed', body: 'Your phone has approved this request.' },
    completed: { title: 'All done', body: 'Your confirmed request has been carried out.' },
    declined: { title: 'Declined', body: `You declined on your phone. ${nothingApproved}` },
    unexpected: {
      title: 'Stopped for your safety',
      body: `The phone reported that its owner did not start this. ${nothingApproved}`,
    },
    not_verified: {
      title: 'Not verified',
      body: `Your phone could not prove this request. ${nothingApproved} You can start again.`,
    },
    killed: { title: 'Cancelled', body: `This request was cancelled. ${nothingApproved}` },
    expired: {
      title: 'Time ran out',
      body: 'This request is no longer valid. Start again to get a new code.',
    },
    unavailable: {
      title: 'Not available',
      body: `Phone confirmation did not start or was stopped. ${nothingApproved} You can start again.`,
    },
    not_set_up: {
      title: 'Not available here',
      body: `This page cannot ask your phone for confirmation. ${nothingApproved} Please contact the site's support.`,
    },
    unreachable: {
      title: 'No connection',
      body: `The confirmation service cannot be reached. ${nothingApproved} Check your connection, then start again.`,
    },
    obstructed: {
      title: 'Closed for your safety',
      body: `This page was covering or hiding the confirmation. ${nothingApproved}`,
    },
  },
}
