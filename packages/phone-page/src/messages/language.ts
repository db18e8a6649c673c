import { directionOf, matchLanguage } from '@bonded/contract'
import { en, type MessageKey, type Messages } from './en.ts'

/** The address of the language files, without the language. The build inserts it. */
declare const BONDED_WORDS_PATH: string

/** The languages of the page besides English: 24 of the European Union, and 16 others. */
export const LANGUAGES = (
  'bg cs da de el es et fi fr ga hr hu it lt lv mt nl pl pt ro sk sl sv ' +
  'ar fa he hi is ja ko no sq sr th tr uk ur vi zh-Hans'
).split(' ')

/** The longest wait: English words now serve the user better than other words later. */
const LOAD_TIMEOUT_MS = 4_000

/** The page's language: its tag, the direction of its script, and its words. */
export interface Language {
  readonly tag: string
  readonly dir: 'ltr' | 'rtl'
  readonly messages: Messages
}

const ENGLISH: Language = { tag: 'en', dir: 'ltr', messages: en }

/**
 * The first of the user's languages that the page has, else English.
 *
 * @example chooseLanguage(['de-AT', 'en']) // 'de'
 */
export function chooseLanguage(wanted: readonly string[]): string {
  return matchLanguage(wanted, ['en', ...LANGUAGES]) ?? 'en'
}

/** Loads the words of one language; English where that fails, so that the page always starts. */
export async function loadLanguage(tag: string): Promise<Language> {
  if (tag === 'en') return ENGLISH
  try {
    const response = await fetch(`${BONDED_WORDS_PATH}/${tag}.json`, {
      signal: AbortSignal.timeout(LOAD_TIMEOUT_MS),
      redirect: 'error',
    })
    if (!response.ok) return ENGLISH
    const words: unknown = await response.json()
    return { tag, dir: directionOf(tag), messages: messagesFrom(words) }
  } catch {
    return ENGLISH
  }
}

function messagesFrom(words: unknown): Messages {
  const given = new Map<string, unknown>(Object.entries(words as object))
  const keys = Object.keys(en) as MessageKey[]
  const texts = keys.map((key) => {
    const text = given.get(key)
    return [key, typeof text === 'string' ? text : en[key]] as const
  })
  return Object.fromEntries(texts) as Messages
}
