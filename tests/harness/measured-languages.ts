import { IS_FRESH } from '../random.ts'

/** One language of each script, because a script has a line height and line breaks of its own. */
const SCRIPTS = ['ar', 'bg', 'el', 'en', 'he', 'hi', 'ja', 'ko', 'th', 'zh', 'zh-Hans']

/** The tag of the texts that `longestOf` returns. */
export const LONGEST = 'longest'

/**
 * The languages that a test of the layout draws: the longest text of each sentence, and one
 * language of each script. `npm run test:soak -- --fresh` draws all of them.
 */
export function measured(tags: Iterable<string>): readonly string[] {
  const all = [...tags]
  return [...(IS_FRESH ? all : all.filter((tag) => SCRIPTS.includes(tag))), LONGEST]
}

/** The longest text of each sentence in any of the languages. */
export function longestOf<Texts extends object>(languages: Iterable<Texts>): Texts {
  const all = [...languages]
  const longest = Object.keys(all[0] ?? {}).map((key) => {
    const texts = all.map((texts) => Reflect.get(texts, key) as string | object)
    const ofKey = texts.every((text) => typeof text === 'string')
      ? texts.toSorted((a, b) => widthOf(b) - widthOf(a))[0]
      : longestOf(texts as object[])
    return [key, ofKey]
  })
  return Object.fromEntries(longest) as Texts
}

/** The width in Latin letters; a sign of Chinese, Japanese or Korean has the width of two. */
function widthOf(text: string): number {
  const wide = text.match(
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu,
  )
  const marks = text.match(/\p{Mark}/gu)
  return text.length + (wide?.length ?? 0) - (marks?.length ?? 0)
}
