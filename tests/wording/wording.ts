import { parseSync } from 'oxc-parser'

/** Words for which the documents and the code use one technical term instead. */
export const RULED_OUT =
  /\b(whoever|nobody|somebody|anybody|mend(s|ed|ing)?|told|untold|hangs? together|gives? way|is asked for|stands? (in|at|for|there|behind)|that which|in the place of|as it came|hears?|heard|vouch(es|ed)?|mint(s|ed|ing)?|forgets?|forgotten|bent|whose key|the person|a person|persons?|customers?|for ever|at rest|rests|by hand|comes to|goes by|(?<!there )(is|are) no (?!longer|more than|later|earlier|less)|nothing else|lie[sd]? (in|with)|holds? to)\b/gi

/** One line of prose, a comment or a test name. */
export interface Text {
  /** Counted from 1. */
  readonly line: number
  readonly text: string
}

/** The prose of a Markdown document, or the comments and test names of a source file. */
export function textsOf(path: string, content: string): readonly Text[] {
  return path.endsWith('.md') ? proseOf(path, content) : sourceTextsOf(path, content)
}

/** Leaves out code blocks and code spans, and the released versions of the changelog. */
function proseOf(path: string, content: string): readonly Text[] {
  let inCode = false
  let versions = 0
  const texts: Text[] = []
  for (const [index, line] of content.split('\n').entries()) {
    if (/^\s*(```|~~~)/.test(line)) {
      inCode = !inCode
      continue
    }
    if (!inCode && line.startsWith('## ')) versions += 1
    if (path === 'CHANGELOG.md' && versions > 1) break
    const text = line.replaceAll(/`[^`]*`/g, '').trim()
    if (!inCode && text !== '') texts.push({ line: index + 1, text })
  }
  return texts
}

function sourceTextsOf(path: string, content: string): readonly Text[] {
  const lineAt = (offset: number) => content.slice(0, offset).split('\n').length
  const { comments } = parseSync(path, content)
  const ofComments = comments.flatMap(({ value, start }) =>
    value.split('\n').map((line, index) => ({
      line: lineAt(start) + index,
      text: line
        .replace(/^\s*\*+\s?/, '')
        .replaceAll(/`[^`]*`/g, '')
        .trim(),
    })),
  )
  const ofTests = [...content.matchAll(TEST_NAME)].map(({ index, 2: name = '' }) => ({
    line: lineAt(index),
    text: name,
  }))
  return [...ofComments, ...ofTests].filter(({ text }) => text !== '')
}

/** The name of a test, as a literal or a template. */
const TEST_NAME = /\b(?:test|it|describe|t\.test)\(\s*(['"`])((?:\\.|(?!\1)[\s\S])*)\1/g
