import { createRequire } from 'node:module'
import { type Workflow, WrittenWorkflow } from '@bonded/contract'
import { InvalidArgumentError } from 'commander'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import { presetProblems, writeOut } from '@bonded/core/operations/admin/presets'
import { textOf } from '../program/given-file.ts'

/** Loaded when a command has a workflow, because it takes a tenth of a second. */
function compileWorkflow() {
  const require = createRequire(import.meta.url)
  const { Compile } = require('typebox/compile') as typeof import('typebox/compile')
  return Compile(WrittenWorkflow)
}
let compiled: ReturnType<typeof compileWorkflow> | undefined
const workflowSchema = () => (compiled ??= compileWorkflow())

/** How a workflow is written on the command line. */
export const WORKFLOW_SYNTAX = '<name:action[,action…][:passport=…][:preset=agent]>'

/** Adds the workflow that the text describes to those before it. */
export function collectWorkflow(text: string, earlier: readonly Workflow[]): readonly Workflow[] {
  const [name = '', actions = '', ...settings] = text.split(':')
  const pairs = settings.map((setting) => /^(passport|preset)=(\w+)$/.exec(setting) ?? [])
  const given = Object.fromEntries(pairs.map(([, member, value]) => [member, value]))
  const workflow = { name, actions: actions.split(','), ...given }
  const isRepeated = Object.keys(given).length < settings.length
  if (isRepeated || !workflowSchema().Check(workflow)) {
    throw new InvalidArgumentError(
      'Expected name:action[,action…][:passport=required|optional|none][:preset=agent]. ' +
        'Names have A-Z a-z 0-9 . _ -, at most 64 characters.',
    )
  }
  return [...earlier, writeOut(workflow)]
}

/**
 * The workflows of a JSON file, with their policies.
 *
 * @throws {OperatorError} that names the first mistake
 */
export function readWorkflows(file: string | undefined): readonly Workflow[] {
  if (file === undefined) return []
  const text = textOf(file)
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch (cause) {
    throw new OperatorError(`${file} is not a readable JSON file`, { code: 'invalid', cause })
  }
  if (!Array.isArray(list))
    throw new OperatorError(`${file} is not a JSON list of workflows`, { code: 'invalid' })
  return list.map((entry: unknown, index) => {
    if (!workflowSchema().Check(entry)) {
      const [first] = workflowSchema().Errors(entry)
      throw new OperatorError(
        `${file}: workflow ${index + 1}${first ? `: ${first.instancePath} ${first.message}` : ' is not a workflow'}`,
        { code: 'invalid' },
      )
    }
    const [problem] = presetProblems(entry)
    if (problem !== undefined) throw new OperatorError(`${file}: ${problem}`, { code: 'invalid' })
    return writeOut(entry)
  })
}
