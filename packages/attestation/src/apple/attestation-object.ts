import { bytesOf, decodeCbor, membersOf } from '../cbor/strict-cbor.ts'

/** Recorded objects have 5.3 kB; larger ones are rejected unread. */
const MAX_OBJECT_BYTES = 16_384

export interface AttestationObject {
  /** The key's certificate, then its issuer's. */
  readonly chain: readonly [Buffer, Buffer]
  readonly receipt: Buffer
  readonly authenticatorData: Buffer
}

/** Reads the CBOR envelope. Undefined unless it has exactly the form that Apple writes. */
export function readAttestationObject(bytes: Buffer): AttestationObject | undefined {
  if (bytes.length > MAX_OBJECT_BYTES) return undefined
  const object = membersOf(decodeCbor(bytes), ['fmt', 'attStmt', 'authData'])
  const statement = membersOf(object?.attStmt, ['x5c', 'receipt'])
  if (
    object?.fmt !== 'apple-appattest' ||
    !Array.isArray(statement?.x5c) ||
    statement.x5c.length !== 2
  )
    return undefined
  const [leaf, issuer] = statement.x5c.map(bytesOf)
  const receipt = bytesOf(statement.receipt)
  const authenticatorData = bytesOf(object.authData)
  if (
    leaf === undefined ||
    issuer === undefined ||
    receipt === undefined ||
    authenticatorData === undefined
  )
    return undefined
  return { chain: [leaf, issuer], receipt, authenticatorData }
}
