import { resolve } from 'node:path'
import { CEILINGS } from './ceilings.ts'
import { compare } from './lines/compare.ts'
import { type Lines, linesOfPackages, linesWithProofs, sourceLines } from './lines/source-lines.ts'

/**
 * Prints the lines of source and of code by package, and those of `proofs` and `bench`, without
 * tests and generated files. With the path of another checkout, it also prints the lines there, and
 * the difference. With `--check` it compares the size of this checkout with `CEILINGS`, and fails
 * if a ceiling is exceeded.
 *
 * npm run lines -- ../before
 */
const ROOT = resolve(import.meta.dirname, '..')
const NONE: Lines = { all: 0, code: 0 }

const [argument] = process.argv.slice(2)
if (argument === '--check') await check()
else printLines(argument)

async function check(): Promise<void> {
  // Imported here, because counting lines needs neither the commands nor the hosted script.
  const { figures } = await import('./lines/figures.ts')
  const counted = await figures()
  console.table(
    Object.fromEntries(
      [...counted].map(([name, figure]) => {
        const ceiling = CEILINGS[name]?.ceiling
        return [name, { figure, ceiling, room: ceiling && ceiling - figure }]
      }),
    ),
  )
  const problems = compare(counted, CEILINGS)
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}

function printLines(other: string | undefined): void {
  const here = sourceLines(ROOT)
  const there = other === undefined ? undefined : sourceLines(resolve(other))
  const parts = [...new Set([...here.keys(), ...(there?.keys() ?? [])])].toSorted()
  console.table(
    Object.fromEntries([
      ...parts.map((part) => [part, row(here.get(part), there && (there.get(part) ?? NONE))]),
      ['all packages', row(linesOfPackages(here), there && linesOfPackages(there))],
      ['packages and proofs', row(linesWithProofs(here), there && linesWithProofs(there))],
    ]),
  )
}

function row({ all, code }: Lines = NONE, before?: Lines) {
  if (before === undefined) return { lines: all, code }
  return {
    'lines before': before.all,
    lines: all,
    'code before': before.code,
    code,
    'more code': code - before.code,
  }
}
