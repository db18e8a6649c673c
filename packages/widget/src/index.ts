/**
 * The types of the hosted script. The script itself is loaded from the service's origin, never from a package:
 *
 * @example <script src="https://{worker_origin}/v1/pulse.js"></script>
 */
export type { BondRequest, Setup } from './arguments.ts'
export type { BondOutcome, UnavailableReason } from './outcome.ts'
export type { Pulse } from './pulse.ts'
export type { PulseError, PulseErrorCode } from './pulse-error.ts'
export type { Appearance } from './view/appearance.ts'
