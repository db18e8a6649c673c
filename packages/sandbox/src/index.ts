import type { Commands } from '@bonded/cli/program/program'

export { SandboxClock } from './clock/sandbox-clock.ts'
export { explain } from './explain.ts'

/** The commands that this package adds to `bonded`. */
export const COMMANDS: Commands = {
  clock: async () => (await import('./clock/clock.ts')).clockCommand(),
  dev: async () => (await import('./dev/dev.ts')).devCommand(),
  init: async () => (await import('./init/init.ts')).initCommand(),
  listen: async () => (await import('./listen/listen.ts')).listenCommand(),
  open: async () => (await import('./open/open.ts')).openCommand(),
  phone: async () => (await import('./phone/phone.ts')).phoneCommand(),
  trigger: async () => (await import('./trigger/trigger.ts')).triggerCommand(),
  try: async () => (await import('./try/try.ts')).tryCommand(),
}
