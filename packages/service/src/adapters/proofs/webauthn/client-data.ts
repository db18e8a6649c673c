import { parseStrictJson } from '@bonded/contract'
import { isObject } from '../is-object.ts'

/** What a page's client data must say. */
export interface ExpectedClientData {
  readonly type: 'webauthn.create' | 'webauthn.get'
  /** Base64url without padding. */
  readonly challenge: string
  /** The service's own, exactly. */
  readonly origin: string
}

/** What is wrong with client data, in one word. */
export type BadClientData =
  | 'client_data'
  | 'client_data_type'
  | 'client_data_challenge'
  | 'client_data_origin'
  | 'client_data_cross_origin'

/** The members that are judged stand in it once; others may come with newer browsers and are left alone. */
export function badClientData(
  bytes: Uint8Array,
  expected: ExpectedClientData,
): BadClientData | undefined {
  const text = decodeUtf8(bytes)
  const parsed = text === undefined ? undefined : parseStrictJson(text)
  const clientData = parsed !== undefined && 'value' in parsed ? parsed.value : undefined
  if (!isObject(clientData)) return 'client_data'
  if (clientData.type !== expected.type) return 'client_data_type'
  if (clientData.challenge !== expected.challenge) return 'client_data_challenge'
  if (clientData.origin !== expected.origin) return 'client_data_origin'
  // Our page is never framed by another: a frame could hide what is approved.
  if ((clientData.crossOrigin ?? false) !== false || clientData.topOrigin !== undefined)
    return 'client_data_cross_origin'
  return undefined
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
