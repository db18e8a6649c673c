import type { WebAuthnSigner } from '@bonded/phone'

/** Position of the flags in authenticator data (WebAuthn, section 6.1). */
const FLAGS_AT = 32
/** The flag "backup eligible": the key may be copied to the user's other devices. */
const BACKUP_ELIGIBLE = 0x08

/**
 * A signer that waits before each signature, and reports whether the key is a synced one.
 *
 * @param beforeSigning resolves when the user may be prompted
 */
export function observeSigner(
  signer: WebAuthnSigner,
  {
    beforeSigning,
    onSigned,
  }: {
    readonly beforeSigning: () => Promise<void>
    readonly onSigned: (key: { readonly isSynced: boolean }) => void
  },
): WebAuthnSigner {
  return {
    ...signer,
    async assert(challenge, key) {
      await beforeSigning()
      const signed = await signer.assert(challenge, key)
      onSigned({ isSynced: ((signed.authenticatorData[FLAGS_AT] ?? 0) & BACKUP_ELIGIBLE) !== 0 })
      return signed
    },
  }
}

/**
 * Whether the phone's browser can attest a passkey. Those of iPhones and iPads never do. An iPad
 * calls itself a Mac, which has no touch screen.
 */
export function canAttest({
  userAgent,
  maxTouchPoints,
}: {
  readonly userAgent: string
  readonly maxTouchPoints: number
}): boolean {
  const isApple = /iPhone|iPad|iPod/.test(userAgent)
  return !isApple && !(userAgent.includes('Macintosh') && maxTouchPoints > 1)
}
