import { VERSION } from '../../version.ts'

/** The addresses of a sandbox. */
export interface SandboxAddresses {
  readonly bank: string
  readonly phone: string
  /** The public origin, which phones use. */
  readonly service: string
}

/**
 * What `bonded dev` prints when everything runs: three addresses, and the next step.
 *
 * @param withKeys whether the terminal reads keys
 */
export function welcome(
  { bank, phone, service }: SandboxAddresses,
  withKeys: boolean,
): readonly string[] {
  return [
    '',
    `  Bonded Sessions ${VERSION}, a sandbox on this computer`,
    '',
    `  Bank       ${bank}`,
    `  Phone      ${phone}   simulated; also beside the bank`,
    `  Service    ${service}   its API is at /api/v1/openapi.json`,
    '',
    '  Next       Open the bank and choose Continue to approval.',
    '             Then scan the QR code and approve with the phone beside it.',
    ...(withKeys ? ['  Keys       a approves here, d declines, n reports “this wasn’t me”.'] : []),
    '  Stop       Ctrl+C',
    '',
  ]
}
