import type { Commands } from '@bonded/cli/program/program'

/** The commands that this package adds to `bonded`. */
export const COMMANDS: Commands = {
  console: async () => (await import('./command.ts')).consoleCommand(),
}

export { explain } from '@bonded/cli/program/explain'
