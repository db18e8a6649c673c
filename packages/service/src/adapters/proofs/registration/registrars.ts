import type { KeyRegistrar } from '../../../ports/proofs.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { RevocationList } from '../../../ports/revocations.ts'
import type { AndroidTrust } from '../android/attested-key.ts'
import { androidKeyRegistrar } from '../android/registrar.ts'
import { appleRegistrar, appleTrust } from '../apple/registrar.ts'
import { webauthnRegistrar } from '../webauthn/registrar.ts'
import { appleWebauthnRoots, BROWSER_KEY_KEEPERS, rootsOf } from '../webauthn/trust.ts'
import type { RegistrationTrust, VouchedFormat } from './question.ts'

/** The registrars of everything that chains to a root. */
export function makeRegistrars(
  { phones: { apple, android, webauthn }, origin }: RegistrationTrust,
  { revocations, clock }: { revocations: RevocationList; clock: Pick<Clock, 'now'> },
): { readonly [Format in VouchedFormat]: KeyRegistrar<Format> } {
  const androidTrust: AndroidTrust = { policy: android, revocations, clock }
  // What keeps a browser's keys is one of Google's apps, whatever apps of the operator's own there are.
  const browsers: AndroidTrust = {
    ...androidTrust,
    policy: { ...android, apps: BROWSER_KEY_KEEPERS, userAuthenticationWithinSeconds: null },
  }
  const packed = [
    ...rootsOf(webauthn.packedRoots, 'production'),
    ...rootsOf(webauthn.testRoots, 'sandbox'),
  ]
  return {
    'apple-app-attest': appleRegistrar({ trust: appleTrust(apple.apps, apple.testRoots), clock }),
    'android-key': androidKeyRegistrar(androidTrust),
    webauthn: webauthnRegistrar({
      origin,
      clock,
      trust: { packed, apple: appleWebauthnRoots(), android: browsers },
    }),
  }
}
