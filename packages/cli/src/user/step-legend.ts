import { EXPLANATIONS } from '@bonded/core/protocol/explanations'

/** A line for each check that an entry names, with what its failure means. */
export function stepLegend(entries: readonly { readonly step: string | null }[]): string[] {
  const steps = new Set(entries.map(({ step }) => step))
  const lines = Object.entries(EXPLANATIONS)
    .filter(([step]) => steps.has(step))
    .map(([step, meaning]) => `(${step}) ${meaning}`)
  return lines.length === 0 ? [] : ['', ...lines]
}
