import { makePulse, type Pulse } from './pulse.ts'

/** The package's version, put in by the bundler. */
declare const PULSE_VERSION: string

const page = window as unknown as { Pulse?: Pulse }

// A page that loads the script twice keeps the first: its bond may be running.
page.Pulse ??= makePulse(PULSE_VERSION)
