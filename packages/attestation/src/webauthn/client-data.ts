import { parseObject } from './parse-object.ts'

/** What the client data of a ceremony must state. */
export interface ExpectedClientData {
  readonly type: 'webauthn.create' | 'webauthn.get'
  readonly challenge: Uint8Array
  /** Compared exactly, for example `https://example.com`. */
  readonly origin: string
  /**
   * The origin of the page that frames this one; absent: the page is in no frame of another origin.
   */
  readonly topOrigin?: string | undefined
}

/** The check that failed. */
export type ClientDataFault =
  | 'client_data'
  | 'client_data_type'
  | 'client_data_challenge'
  | 'client_data_origin'
  | 'client_data_cross_origin'

/** Recorded client data has some 200 bytes. */
const MAX_CLIENT_DATA_BYTES = 4_096

/** Checks client data. Members that newer browsers may add are ignored; a member twice is not. */
export function clientDataFault(
  bytes: Uint8Array,
  expected: ExpectedClientData,
): ClientDataFault | undefined {
  const clientData = bytes.length > MAX_CLIENT_DATA_BYTES ? undefined : parseObject(bytes)
  if (clientData === undefined) return 'client_data'
  const { type, challenge, origin, crossOrigin, topOrigin } = clientData
  if (type !== expected.type) return 'client_data_type'
  if (challenge !== Buffer.from(expected.challenge).toString('base64url'))
    return 'client_data_challenge'
  if (origin !== expected.origin) return 'client_data_origin'
  return isFramedAs(expected.topOrigin, { crossOrigin, topOrigin })
    ? undefined
    : 'client_data_cross_origin'
}

/** A page in a frame could be hidden behind its parent's content, so only a known one frames it. */
function isFramedAs(
  expected: string | undefined,
  { crossOrigin, topOrigin }: Readonly<Record<'crossOrigin' | 'topOrigin', unknown>>,
): boolean {
  if (expected === undefined) return (crossOrigin ?? false) === false && topOrigin === undefined
  // Not every browser sends the origin of the top page. One that is present must match, and null is
  // present: WebAuthn Level 3, 7.2, compares the member wherever the client data has it.
  return crossOrigin === true && (topOrigin === undefined || topOrigin === expected)
}
