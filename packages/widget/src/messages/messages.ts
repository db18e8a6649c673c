import type { ScreenName } from '../screen.ts'
import english from './en.json' with { type: 'json' }

/** The text of a screen: a title, and a sentence with the next step. */
interface ScreenText {
  readonly title: string
  readonly body: string
}

/**
 * All texts of the widget, as plain data: a language is one JSON file of this shape. A text contains
 * the placeholders of the English one, such as `{time}`.
 */
export interface Messages {
  readonly screens: Record<ScreenName, ScreenText>
  readonly label: string
  readonly codeLabel: string
  readonly touchBody: string
  readonly handoff: string
  readonly otherPhone: string
  readonly cannotScan: string
  readonly renewing: string
  /** Above the pairs of the context. The phone's words are the ones that count. */
  readonly same: string
  readonly timeLeft: string
}

/** English, the language in the script. */
export const en: Messages = english

/**
 * A text with its placeholders replaced. A placeholder without a value stays as it is.
 *
 * @example fill('{time} left', { time: '4:59' }) // '4:59 left'
 */
export function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder)
}
