import { PRESETS, type Workflow, type WrittenWorkflow } from '@bonded/contract'

/** Replaces the preset of a workflow by the members that it consists of. */
export function writeOut({ preset, ...workflow }: WrittenWorkflow): Workflow {
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
