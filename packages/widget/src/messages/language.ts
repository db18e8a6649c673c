import { en, type Messages } from './messages.ts'

/** The texts of the widget in one language. */
export interface Language {
  /** BCP 47, for the `lang` of the card. */
  readonly code: string
  readonly messages: Messages
}

/** The language in the script. */
export const ENGLISH: Language = { code: 'en', messages: en }

/** The direction of a language's script. */
export function directionOf(code: string): 'ltr' | 'rtl' {
  return /^(?:ar|fa|he|ur)\b/.test(code) ? 'rtl' : 'ltr'
}
