import { tokenize } from 'css-tree'
import { parseSync } from 'oxc-parser'

/** Offsets in a text, in UTF-16 units. */
interface Range {
  readonly start: number
  readonly end: number
}

/**
 * Counts the lines of code. A line is code if it has a letter or a digit outside comments and
 * imports, so lines of brackets are not counted. `export … from` is an import as well. Parsers find
 * the comments and imports, because strings and templates may contain text that looks like them.
 */
export function codeLines(path: string, text: string): number {
  const code = withoutCode(path, text).reduce(blank, text)
  return code.split('\n').filter((line) => /[\p{L}\p{N}]/u.test(line)).length
}

/** Keeps the line breaks, so that the other lines stay as they are. */
function blank(text: string, { start, end }: Range): string {
  return text.slice(0, start) + text.slice(start, end).replace(/[^\n]/g, ' ') + text.slice(end)
}

function withoutCode(path: string, text: string): readonly Range[] {
  if (path.endsWith('.py')) return commentsOfPython(text)
  if (path.endsWith('.css')) return commentsOfCss(text)
  if (path.endsWith('.html')) return commentsOfHtml(text)
  const { comments, module, errors } = parseSync(path, text)
  if (errors[0] !== undefined) throw new Error(`${path} does not parse: ${errors[0].message}`)
  const reexports = module.staticExports.filter(({ entries }) =>
    entries.some(({ moduleRequest }) => moduleRequest !== null),
  )
  return [...comments, ...module.staticImports, ...reexports]
}

/** Comments, docstrings, and imports that begin a line: the package has no others. */
function commentsOfPython(text: string): readonly Range[] {
  const found = text.matchAll(/^ *#.*$|^ *"""[^]*?"""$|^(?:from \S+ )?import (?:\([^)]*\)|.*)$/gm)
  return [...found].map(({ index, 0: part }) => ({ start: index, end: index + part.length }))
}

function commentsOfCss(text: string): readonly Range[] {
  const comments: Range[] = []
  tokenize(text, (_, start, end) => {
    if (text.startsWith('/*', start)) comments.push({ start, end })
  })
  return comments
}

function commentsOfHtml(text: string): readonly Range[] {
  return [...text.matchAll(/<!--[\s\S]*?-->/g)].map(({ index, 0: comment }) => ({
    start: index,
    end: index + comment.length,
  }))
}
