import { hash } from 'node:crypto'
import { decodeBase64url, Secret, type SubjectKeys } from '@bonded/contract'
import {
  createPhone,
  type Phone as PhoneLibrary,
  type PhoneDevice,
  type WebAuthnSigner,
} from '@bonded/phone'
import { type Authenticator, createAuthenticator, nodeClock, nodeFetch } from '@bonded/simulator'
import { credentialId, type Phone } from './people.ts'
import { promptPage } from './proof.ts'
import type { RelayService } from './relay-service.ts'

/** A phone that is a program with a key of its own: the attacker's, or a second one of a user. */
export interface ProgramPhone {
  readonly library: PhoneLibrary
  /** Its key, with which a program signs for any page. */
  readonly key: Authenticator
}

/** Creates a phone that is not registered yet. */
export function createProgramPhone(service: RelayService): ProgramPhone {
  const key = createAuthenticator({ origin: service.origin, rpId: service.rpId })
  const asserted = (challenge: Uint8Array) => {
    const clientData = { challenge: base64url(challenge) }
    const signed = key.assert('', { clientData })
    return {
      key_id: signed.key_id,
      authenticatorData: bytesOf(signed.authenticator_data),
      clientDataJson: bytesOf(signed.client_data_json),
      signature: bytesOf(signed.signature),
    }
  }
  const library = libraryOf(service, {
    format: 'webauthn',
    rpId: service.rpId,
    register: async (challenge) => key.register(base64url(challenge)),
    assert: async (challenge) => asserted(challenge),
    find: async (challenge) => asserted(challenge),
    discard: async () => {},
  })
  return { library, key }
}

/**
 * Has the user's phone add another phone to its user, as an app of the service does. The user
 * agrees, because the attacker said what it is for.
 */
export async function join(
  service: RelayService,
  { added, by }: { readonly added: ProgramPhone; readonly by: Phone },
): Promise<PhoneDevice> {
  const [passkey] = await by.passkeys()
  if (passkey === undefined) throw new Error('the phone has no passkey')
  const { body } = await service.call({ method: 'GET', path: '/devices', token: by.token() })
  const { subject_id, keys } = body as SubjectKeys
  const [first] = keys
  const key_id = credentialId(passkey)
  const cannot = () => Promise.reject(new Error('the phone creates no key here'))
  const app = libraryOf(
    service,
    {
      format: 'webauthn',
      rpId: service.rpId,
      register: cannot,
      find: cannot,
      discard: async () => {},
      async assert(challenge) {
        const wanted = {
          rpId: service.rpId,
          credentialIds: [key_id],
          challenge: base64url(challenge),
        }
        const prompted = await promptPage(by.page, wanted)
        if ('error' in prompted) throw new Error(prompted.error)
        const { clientDataJSON, authenticatorData, signature } = prompted.assertion.response
        return {
          authenticatorData: bytesOf(authenticatorData),
          clientDataJson: bytesOf(clientDataJSON),
          signature: bytesOf(signature),
        }
      },
    },
    {
      origin: service.origin,
      device_id: first?.device_id ?? '',
      subject_id,
      key_id,
      device_token: new Secret(by.token()),
      format: 'webauthn',
    },
  )
  return added.library.acceptKey(await app.addKey(await added.library.proposeKey()))
}

/** Approves a request as its user would. Returns the state afterwards, or the reason against it. */
export async function approveWith(
  { library }: ProgramPhone,
  { universal_link }: { readonly universal_link: string },
): Promise<string> {
  try {
    const claimed = await library.claim(universal_link)
    const at_ms = nodeClock.now()
    const local_auth = { result: 'verified', method: 'biometric', at_ms } as const
    const approved = await library.approve(claimed, { gather: () => ({ local_auth }) })
    return approved.session.state
  } catch (failure) {
    return String((failure as { readonly reason?: unknown }).reason ?? failure)
  }
}

function libraryOf(service: RelayService, signer: WebAuthnSigner, known?: PhoneDevice) {
  let device = known
  return createPhone({
    origin: service.origin,
    signer,
    store: {
      device: async () => device,
      keep: async (kept) => void (device = kept),
      nextCounter: async () => 0,
    },
    sha256: (text) => hash('sha256', text, 'buffer'),
    fetch: (url, request) => nodeFetch(url.replace(service.origin, service.address), request),
    clock: nodeClock,
  })
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url')
}

function bytesOf(text: string): Uint8Array {
  return decodeBase64url(text) ?? new Uint8Array()
}
