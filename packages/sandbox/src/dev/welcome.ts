import { VERSION } from '@bonded/server/version'

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
  const isReachable = service.startsWith('https:')
  return [
    '',
    `  Bonded Sessions ${VERSION}, a sandbox on this computer`,
    '',
    `  Bank       ${bank}`,
    `  Phone      ${phone}   simulated; also beside the bank`,
    `  Service    ${service}   its API is at /api/v1/openapi.json`,
    '',
    '  Next       Open the bank and choose Continue to approval.',
    ...(isReachable
      ? [
          '             Then scan the QR code with your phone’s camera, or with the phone beside it.',
        ]
      : [
          '             Then scan the QR code and approve with the phone beside it.',
          '  Real phone It cannot reach localhost: see docs/guides/real-phone.md',
        ]),
    ...(withKeys ? ['  Keys       a approves here, d declines, n reports “this wasn’t me”.'] : []),
    '  Stop       Ctrl+C',
    '',
  ]
}
