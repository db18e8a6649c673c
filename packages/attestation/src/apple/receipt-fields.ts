import { type Tlv, Malformed, readTlv, unlessMalformed } from '../asn1/tlv.ts'
import { readInteger, readOctets, readSequence, readSetOf, readSmall } from '../asn1/values.ts'

/** The fields of a receipt, numbered as in Apple's "Assessing fraud risk", "Receipt fields". */
export interface ReceiptFields {
  readonly appId: string
  readonly certificate: Buffer
  readonly clientDataHash: Buffer
  readonly type: string
  readonly environment: string
  readonly createdAt: number
  /** How many keys this phone created for the app recently. Only a refreshed receipt has it. */
  readonly riskMetric: string | undefined
  readonly expiresAt: number
}

const FIELD = {
  appId: 2,
  certificate: 3,
  clientDataHash: 4,
  type: 6,
  environment: 7,
  createdAt: 12,
  riskMetric: 17,
  expiresAt: 21,
} as const
/** The numbers in use are below 30. */
const MAX_FIELD = 127

/** Reads a SET of { type, version, OCTET STRING }. Skips unknown fields; rejects repeated ones. */
export function readReceiptFields(content: Buffer): ReceiptFields | undefined {
  const fields = unlessMalformed(() => fieldsOf(readTlv(content)))
  const text = (field: number) => fields?.get(field)?.toString('latin1')
  const [appId, type, environment] = [text(FIELD.appId), text(FIELD.type), text(FIELD.environment)]
  const [certificate, clientDataHash] = [
    fields?.get(FIELD.certificate),
    fields?.get(FIELD.clientDataHash),
  ]
  const [createdAt, expiresAt] = [
    instantOf(text(FIELD.createdAt)),
    instantOf(text(FIELD.expiresAt)),
  ]
  if (appId === undefined || type === undefined || environment === undefined) return undefined
  if (
    certificate === undefined ||
    clientDataHash === undefined ||
    createdAt === undefined ||
    expiresAt === undefined
  )
    return undefined
  return {
    appId,
    certificate,
    clientDataHash,
    type,
    environment,
    createdAt,
    riskMetric: text(FIELD.riskMetric),
    expiresAt,
  }
}

function fieldsOf(list: Tlv): ReadonlyMap<number, Buffer> {
  const fields = new Map<number, Buffer>()
  for (const entry of readSetOf(list)) {
    const [type, version, value, ...more] = readSequence(entry)
    const number = readSmall(type)
    readInteger(version)
    if (more.length > 0 || number > MAX_FIELD || fields.has(number)) throw new Malformed('receipt')
    fields.set(number, readOctets(value))
  }
  return fields
}

function instantOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text))
    return undefined
  const instant = Date.parse(text)
  return Number.isNaN(instant) ? undefined : instant
}
