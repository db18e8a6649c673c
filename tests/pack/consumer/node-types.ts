// Compiled, and never run: the types of the installed packages that need Node.
import { createSimulatedPhone, type RunResult } from '@bonded/simulator'
import { loadPulseScript, type PulseScript } from '@bonded/widget/script'

const phone = createSimulatedPhone({ origin: 'http://localhost:1' })
export const run: Promise<RunResult> = phone.run('https://localhost/bond', 'approve')
export const script: Promise<PulseScript> = loadPulseScript()
// @ts-expect-error the types are not `any`: there is no such outcome.
export const wrong: Promise<RunResult> = phone.run('https://localhost/bond', 'forge')
