import { requireOptions } from '../required.ts'
import { rejectUnknownMembers } from '../verbs/gate-policy.ts'
import { checkMinimum } from './quorum.ts'

const REQUIRED = {
  service: 'an object',
  store: ['put', 'find', 'withLookup', 'move', 'unfinished', 'remove', 'removeExpired'],
  workflow: 'a text',
  action: 'a text',
  version: 'a text',
  describe: 'a function',
} as const

/** @throws {GateError} `invalid_configuration` for an unknown option, or without a required one */
export function checkOptions(options: object & { readonly quorum?: object }): void {
  rejectUnknownMembers(options, [...Object.keys(REQUIRED), 'describeRepeat', 'policy', 'quorum'])
  requireOptions('createApprovals', options, REQUIRED)
  if (options.quorum === undefined) return
  rejectUnknownMembers(options.quorum, ['minimum'], 'quorum.')
  checkMinimum((options.quorum as { minimum?: unknown }).minimum)
}
