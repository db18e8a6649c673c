import { type Explained, explain as explainOperator } from '@bonded/cli/explain'
import type { Commands } from '@bonded/cli/program'
import { escapeHidden } from '@bonded/contract'
import { AccessError } from './access.ts'

/** The commands that this package adds to `bonded`. */
export const COMMANDS: Commands = {
  console: async () => (await import('./command.ts')).consoleCommand(),
}

/** Explains a failure to the operator. */
export function explain(failure: unknown): Explained {
  if (!(failure instanceof AccessError)) return explainOperator(failure)
  const message = failure.message.split('\n').map(escapeHidden).join('\n')
  return { code: 'configuration_invalid', message, usage: true }
}
