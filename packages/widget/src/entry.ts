import { makePulse, type Pulse } from './pulse.ts'
import { originOfScript } from './script-origin.ts'

/** The package's version, inserted by the bundler. */
declare const PULSE_VERSION: string

const page = window as unknown as { Pulse?: Pulse }

// A page that loads the script twice keeps the first instance, because its bond may be in progress.
page.Pulse ??= makePulse(PULSE_VERSION, originOfScript(document.currentScript))
