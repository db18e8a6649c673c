import { PRESETS, type Workflow, type WrittenWorkflow } from '@bonded/contract'

/** Replaces the preset of a workflow by the members that it consists of. A quorum has an inbox. */
export function writeOut({ preset, ...written }: WrittenWorkflow): Workflow {
  const { quorum, delivery = 'inbox' } = written
  const workflow = quorum === undefined ? written : { ...written, delivery }
  return preset === undefined ? workflow : { ...workflow, ...PRESETS[preset] }
}

/** Members that a workflow sets besides a preset that sets them: a reader expects the preset's. */
export function presetProblems(workflow: WrittenWorkflow): readonly string[] {
  const { preset } = workflow
  if (preset === undefined) return []
  return Object.keys(PRESETS[preset])
    .filter((member) => Object.hasOwn(workflow, member))
    .map((member) => {
      const says = `the preset ${preset} sets ${member}. Omit it, or write the preset out`
      return `workflow ${workflow.name}: ${says}`
    })
}
