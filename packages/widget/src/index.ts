/**
 * The loader of the hosted script, and the script's types. The script itself comes from the
 * service, never from this package, because only the service's script gets its fixes:
 *
 * @example const pulse = await loadPulse({ origin: 'https://bond.example' })
 */
export type { BondRequest, Setup } from './arguments.ts'
export type { Containment, ContainmentEvent } from './container/containment.ts'
export { PulseLoadError, type PulseLoadErrorCode } from './npm/load-error.ts'
export { type LoadOptions, loadPulse } from './npm/load-pulse.ts'
export type { BondOutcome, UnavailableReason } from './outcome.ts'
export type { Pulse } from './pulse.ts'
export type { PulseError, PulseErrorCode } from './pulse-error.ts'
export type { Appearance } from './view/appearance.ts'
