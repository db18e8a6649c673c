import type { PhoneSignals } from '@bonded/phone'

/** The part of `expo-local-authentication` that is used. */
export interface LocalAuthentication {
  getEnrolledLevelAsync(): Promise<number>
  authenticateAsync(options: {
    readonly promptMessage: string
    readonly disableDeviceFallback?: boolean
    readonly fallbackLabel?: string
    readonly biometricsSecurityLevel?: 'strong'
  }): Promise<{ readonly success: true } | { readonly success: false; readonly error: string }>
}

/** The levels of `getEnrolledLevelAsync`. */
const LEVEL = { none: 0, screenLock: 1 }
/** Errors after which the user can still enter the passcode. */
const PASSCODE_INSTEAD: ReadonlySet<string> = new Set(['user_fallback', 'lockout', 'not_enrolled'])

/** How the user proved to be the owner of the phone, as the evidence reports it. */
export type LocalAuth = PhoneSignals['local_auth']

export interface UserVerifier {
  /** Whether the phone has a screen lock. Without one, it cannot verify the user. */
  hasScreenLock(): Promise<boolean>
  /** Asks for fingerprint, face, or passcode. */
  verify(prompt: { readonly message: string; readonly usePasscode: string }): Promise<LocalAuth>
}

interface UserVerifierOptions {
  readonly authentication: LocalAuthentication
  readonly os: 'ios' | 'android'
  /** The phone's monotonic clock, in milliseconds. */
  readonly now: () => number
}

/**
 * Verifies the user by the phone's screen lock.
 *
 * The library does not report which way the user chose where both are offered. On iOS, the passcode
 * is therefore a second prompt. On Android, the method is the weaker of the two.
 */
export function createUserVerifier(options: UserVerifierOptions): UserVerifier {
  const { authentication, os, now } = options
  const failed = (): LocalAuth => ({ result: 'failed', method: 'none', at_ms: now() })
  const verified = (method: LocalAuth['method']): LocalAuth => ({
    result: 'verified',
    method,
    at_ms: now(),
  })
  return {
    hasScreenLock: async () => (await authentication.getEnrolledLevelAsync()) > LEVEL.none,
    async verify({ message: promptMessage, usePasscode: fallbackLabel }) {
      const level = await authentication.getEnrolledLevelAsync()
      if (level <= LEVEL.none) return failed()
      if (os === 'ios' && level > LEVEL.screenLock) {
        const asked = await authentication.authenticateAsync({
          promptMessage,
          fallbackLabel,
          disableDeviceFallback: true,
        })
        if (asked.success) return verified('biometric')
        if (!PASSCODE_INSTEAD.has(asked.error)) return failed()
      }
      // Only strong biometrics unlock a key of the Keystore.
      const asked = await authentication.authenticateAsync({
        promptMessage,
        biometricsSecurityLevel: 'strong',
      })
      return asked.success ? verified('device_credential') : failed()
    },
  }
}
