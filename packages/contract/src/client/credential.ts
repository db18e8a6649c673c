import { encodeBase64url } from '../encoding.ts'

/**
 * A credential of WebAuthn, by the browser or a password manager in its place. Each member of the
 * response is bytes; `M` names those that are read.
 */
export interface CredentialLike<M extends string> {
  readonly rawId: ArrayBuffer | Uint8Array
  readonly response: Readonly<Record<M, ArrayBuffer | Uint8Array>>
}

/** A credential as the service takes it, with its bytes in base64url. */
export interface CredentialMembers<M extends string> {
  readonly id: string
  readonly type: 'public-key'
  readonly response: Record<M, string>
}

export const REGISTRATION_MEMBERS = ['clientDataJSON', 'attestationObject'] as const
export const ASSERTION_MEMBERS = ['clientDataJSON', 'authenticatorData', 'signature'] as const

/** What a failed prompt of `navigator.credentials` says. */
export type PromptFailure =
  /** The user or the browser permitted none, or the time is over. Browsers hide which. */
  | 'denied'
  /** Another attempt may succeed. */
  | 'failed'
  /** This browser cannot, or not at this address. */
  | 'final'

/**
 * Classifies a failure by the name of its error (WebAuthn, 5.1.3 and 5.1.4). A name that no
 * standard has is one of the platform behind the browser, which may answer the next time.
 *
 * @example promptFailureOf('UnknownError') // 'failed'
 */
export function promptFailureOf(name: string): PromptFailure {
  if (/^(NotAllowed|Abort)Error$/.test(name)) return 'denied'
  return /^(Security|NotSupported|Type)Error$/.test(name) ? 'final' : 'failed'
}

/** The id of a credential, and the named members of its response as bytes. */
export function credentialBytes<M extends string>(
  { rawId, response }: CredentialLike<M>,
  names: readonly M[],
): { readonly id: string; readonly response: Readonly<Record<M, Uint8Array>> } {
  const bytes = {} as Record<M, Uint8Array>
  names.forEach((name) => (bytes[name] = new Uint8Array(response[name])))
  return { id: encodeBase64url(new Uint8Array(rawId)), response: bytes }
}

/**
 * The members of a credential that the service takes, and no others. Its own `toJSON` is never
 * called: Safari lacks it before 18.4, a password manager's object may have another or none, and it
 * returns members that the service's closed schema rejects.
 *
 * @example credentialMembers(await navigator.credentials.get(options), ASSERTION_MEMBERS)
 */
export function credentialMembers<M extends string>(
  credential: CredentialLike<M>,
  names: readonly M[],
): CredentialMembers<M> {
  const { id, response } = credentialBytes(credential, names)
  const texts = {} as Record<M, string>
  names.forEach((name) => (texts[name] = encodeBase64url(response[name])))
  return { id, type: 'public-key', response: texts }
}
