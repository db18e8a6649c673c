import { type Explained, explain as explainOperator } from '@bonded/cli/program/explain'
import type { Commands } from '@bonded/cli/program/program'
import { escapeHidden } from '@bonded/contract'
import { GateError } from '@bonded/integrator'

/** The commands that this package adds to `bonded`. */
export const COMMANDS: Commands = {
  ciba: async () => (await import('./command.ts')).cibaCommand(),
}

/** Explains a failure to the operator. */
export function explain(failure: unknown): Explained {
  const isConfiguration = failure instanceof GateError && failure.code === 'invalid_configuration'
  if (!isConfiguration) return explainOperator(failure)
  const message = failure.message.split('\n').map(escapeHidden).join('\n')
  return { code: 'configuration_invalid', message, usage: true }
}
