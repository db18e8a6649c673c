// Compiled, but never run: the types of the installed packages that need Node.
import { type AndroidPolicy, GOOGLE_ROOTS } from '@bonded/attestation'
import { readStatusList } from '@bonded/attestation/android'
import { createSimulatedPhone, type RunResult } from '@bonded/simulator'
import { loadPulseScript, type PulseScript } from '@bonded/widget/script'

const phone = createSimulatedPhone({ origin: 'http://localhost:1' })
export const run: Promise<RunResult> = phone.run('https://localhost/bond', 'approve')
export const script: Promise<PulseScript> = loadPulseScript()
export const roots: AndroidPolicy['roots'] = GOOGLE_ROOTS
export const list: ReturnType<typeof readStatusList> | undefined = undefined
// @ts-expect-error the types are not `any`: this outcome does not exist.
export const wrong: Promise<RunResult> = phone.run('https://localhost/bond', 'forge')
