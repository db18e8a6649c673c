import { makePulse, type Pulse } from './pulse.ts'
import { loadStyles } from './view/sheet.ts'
import { originOfScript } from './script-origin.ts'

/** The package's version, inserted by the bundler. */
declare const PULSE_VERSION: string

const origin = originOfScript(document.currentScript)
const page: Window & { Pulse?: Pulse } = window

// A page that loads the script twice keeps the first instance, because its bond may be in progress.
page.Pulse ??= makePulse(PULSE_VERSION, origin)
// The styles are then there when the page requests a bond.
if (origin) void loadStyles(origin)
