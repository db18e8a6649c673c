import type { ScreenName } from '../screen.ts'
import english from './en.json' with { type: 'json' }

/** The text of a screen: a title, and a sentence with the next step. */
export interface ScreenText {
  readonly title: string
  readonly body: string
}

/**
 * All texts of the widget, as plain data: a language is one JSON file of this shape. A text
 * contains the placeholders of the English one, such as `{time}`.
 */
export interface Messages {
  readonly screens: Record<ScreenName, ScreenText>
  readonly label: string
  /** What a browser that is too old reads, instead of the widget. */
  readonly newerTitle: string
  readonly newerBody: string
  readonly codeLabel: string
  readonly touchBody: string
  readonly handoff: string
  readonly otherPhone: string
  readonly cannotScan: string
  readonly renewing: string
  /** The actions of the widget, and that the link was copied. */
  readonly cancel: string
  readonly again: string
  readonly newCode: string
  readonly help: string
  readonly close: string
  readonly copyLink: string
  readonly linkCopied: string
  readonly openHere: string
  /** While the connection to the service is lost. */
  readonly reconnecting: string
  /** The help of “Can’t scan?”, its title: two questions with their answers. */
  readonly whatTitle: string
  readonly whatBody: string
  readonly noAppTitle: string
  readonly noAppBody: string
  /** Above the pairs of the context, which come from the page. The phone's words count. */
  readonly same: string
  readonly timeLeft: string
}

/** English, the language in the script. */
export const en: Messages = english
