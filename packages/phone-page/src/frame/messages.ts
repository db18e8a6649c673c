import en from './en.json' with { type: 'json' }

/** All words of the frame in one language. `frame-words.json` has each but English. */
export type Words = Readonly<Record<keyof typeof en, string>>

/** The words of each language but English, by its tag. The build inserts them. */
declare const BONDED_FRAME_WORDS: Readonly<Record<string, Words>>

export function wordsOf(tag: string): Words {
  return Object.hasOwn(BONDED_FRAME_WORDS, tag) ? (BONDED_FRAME_WORDS[tag] ?? en) : en
}
