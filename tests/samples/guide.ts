import assert from 'node:assert/strict'
import { relative } from 'node:path'
import { documents, ROOT } from '../../scripts/site/documents.ts'
import { typed, type Values } from './replacements.ts'
import { type Sample, samplesOf, testsOf } from './samples.ts'

interface Walk {
  /** The document. */
  readonly path: string
  /** The file of the test, which the labels above the blocks name. */
  readonly test: string
  /** Replaced in every block. */
  readonly values?: Values
}

/** The text of a block as a reader types it, with further values in place of texts in it. */
export type Block = (values?: Values) => string

/** Runs the blocks of a document whose labels name the test, in order and to the last one. */
export async function walkGuide<T>(
  { path, test, values }: Walk,
  walk: (next: () => Block) => Promise<T>,
): Promise<T> {
  const { blocks, label } = blocksRunBy(test, [path])
  const left = blocks.values()
  const result = await walk(() => {
    const { value: block } = left.next()
    assert.ok(block, `${path} has ${blocks.length} blocks that are ${label}`)
    return (more) => typed(block, { ...values, ...more })
  })
  const { value: rest } = left.next()
  assert.equal(rest, undefined, `${path}:${rest?.line} did not run`)
  return result
}

/** The text of the only block of a guide with these words, with values in place of texts in it. */
export type TakeBlock = (guide: string, words: string, values?: Values) => string

/** Runs the blocks of all guides whose labels name the test, each once, in an order of its own. */
export async function walkGuides<T>(
  test: string,
  walk: (take: TakeBlock) => Promise<T>,
): Promise<T> {
  const left = new Set(blocksRunBy(test, documents()).blocks)
  const result = await walk((guide, words, values) => {
    const found = [...left].filter(
      ({ path, code }) => path === `docs/guides/${guide}` && code.includes(words),
    )
    const [block] = found
    assert.ok(block && found.length === 1, `${guide} has ${found.length} blocks with ${words}`)
    left.delete(block)
    return typed(block, values)
  })
  const rest = [...left].map(({ path, line }) => `${path}:${line}`)
  assert.deepEqual(rest, [], 'these blocks did not run')
  return result
}

function blocksRunBy(
  test: string,
  paths: readonly string[],
): { readonly blocks: readonly Sample[]; readonly label: string } {
  const file = relative(ROOT, test)
  const isRun = (sample: Sample) => testsOf(sample).includes(file)
  return { label: `run by ${file}`, blocks: paths.flatMap(samplesOf).filter(isRun) }
}
