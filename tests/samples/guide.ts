import assert from 'node:assert/strict'
import { relative } from 'node:path'
import { ROOT } from '../../scripts/site/documents.ts'
import { typed, type Values } from './replacements.ts'
import { samplesOf } from './samples.ts'

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
  const label = `run by ${relative(ROOT, test)}`
  const blocks = samplesOf(path).filter((sample) => sample.label === label)
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
