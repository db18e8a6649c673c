import { textRuns } from '@bonded/phone'
import { element } from './dom.ts'

/**
 * A text, verbatim: each line has its number and wraps. The base direction is left to right, and
 * what is written from right to left is isolated.
 */
export function drawLines(text: string): HTMLElement {
  const lines = text.split('\n').map((line) => {
    const nodes = textRuns(line).map((run, index) =>
      index % 2 === 0 ? run : element('bdi', {}, run),
    )
    return element('li', {}, element('code', {}, ...nodes))
  })
  return element('ol', { class: 'text', dir: 'ltr', translate: 'no' }, ...lines)
}
