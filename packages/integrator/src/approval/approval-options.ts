import { requireOptions } from '../required.ts'
import { rejectUnknownMembers } from '../verbs/gate-policy.ts'

const REQUIRED = {
  service: 'an object',
  store: ['put', 'find', 'withLookup', 'move', 'unfinished', 'remove', 'removeExpired'],
  workflow: 'a text',
  action: 'a text',
  version: 'a text',
  describe: 'a function',
} as const

/** @throws {GateError} `invalid_configuration` for an unknown option, or without a required one */
export function checkOptions(options: object): void {
  rejectUnknownMembers(options, [...Object.keys(REQUIRED), 'describeRepeat', 'policy'])
  requireOptions('createApprovals', options, REQUIRED)
}
