import { directionOf, matchLanguage } from '@bonded/contract'
import type { Messages } from './en.ts'

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
export interface Language<M extends Messages = Messages> {
  readonly tag: string
  readonly dir: 'ltr' | 'rtl'
  readonly messages: M
}

/**
 * The first of the user's languages that the page has, else English.
 *
 * @example chooseLanguage(['de-AT', 'en']) // 'de'
 */
export function chooseLanguage(wanted: readonly string[]): string {
  return matchLanguage(wanted, ['en', ...LANGUAGES]) ?? 'en'
}

/**
 * Loads the words of the user's language; English where that fails, so that the page always starts.
 *
 * @param en the page's words in English
 * @param prefix of the names of the page's files
 */
export async function loadLanguage<M extends Messages>(en: M, prefix = ''): Promise<Language<M>> {
  const english: Language<M> = { tag: 'en', dir: 'ltr', messages: en }
  const tag = chooseLanguage(navigator.languages)
  if (tag === 'en') return english
  try {
    const response = await fetch(`${BONDED_WORDS_PATH}/${prefix}${tag}.json`, {
      signal: AbortSignal.timeout(LOAD_TIMEOUT_MS),
      redirect: 'error',
    })
    if (!response.ok) return english
    const words = (await response.json()) as string[]
    const named = Object.keys(en).map((name, index) => [name, words[index]])
    return { tag, dir: directionOf(tag), messages: Object.fromEntries(named) as M }
  } catch {
    return english
  }
}
