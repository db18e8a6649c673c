import { browserKeyOptions, type CreateBrowserKey, PhoneError } from '@bonded/phone'

/** The part of `react-native-passkeys` that is used. */
export interface Passkeys {
  create(options: ReturnType<typeof browserKeyOptions>): Promise<{
    readonly id: string
    readonly response: { readonly clientDataJSON: string; readonly attestationObject: string }
  } | null>
}

/**
 * Creates the passkey that confirms requests in the browser of a page. The key of the app cannot
 * answer there.
 */
export function createBrowserKeys(
  passkeys: Passkeys,
  names: Parameters<typeof browserKeyOptions>[1],
): CreateBrowserKey {
  return async (request) => {
    const created = await passkeys.create(browserKeyOptions(request, names)).catch((cause) => {
      // The libraries of the platforms name a canceled prompt in different ways.
      throw new PhoneError('user_verification_failed', { reason: 'passkey', cause })
    })
    if (created === null) throw new PhoneError('authenticator_unusable', { reason: 'passkey' })
    const { id, response } = created
    return { id, type: 'public-key', response }
  }
}
