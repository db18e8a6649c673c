import { childrenOf, readElement, TAG } from '../der/element.ts'

/** What Apple says in a receipt. The numbers are those of "Assessing fraud risk", section "Receipt fields". */
export interface ReceiptFields {
  readonly appId: string
  readonly certificate: Buffer
  readonly clientDataHash: Buffer
  readonly type: string
  readonly environment: string
  readonly createdAt: number
  /** How many keys this phone has made for the app of late; Apple tells on a refreshed receipt only. */
  readonly riskMetric: string | undefined
  readonly expiresAt: number
}

const FIELD = { appId: 2, certificate: 3, clientDataHash: 4, type: 6, environment: 7, createdAt: 12, riskMetric: 17, expiresAt: 21 } as const

/** A SET of { type, version, OCTET STRING }. Fields that are not known are left alone; none may come twice. */
export function readReceiptFields(content: Buffer): ReceiptFields | undefined {
  const fields = new Map<number, Buffer>()
  for (const entry of childrenOf(readElement(content), TAG.set) ?? []) {
    const [type, version, value, ...more] = childrenOf(entry, TAG.sequence) ?? []
    if (type?.tag !== TAG.integer || version?.tag !== TAG.integer || value?.tag !== TAG.octetString || more.length > 0) return undefined
    const [number, ...higher] = type.content
    if (number === undefined || number > 127 || higher.length > 0 || fields.has(number)) return undefined
    fields.set(number, value.content)
  }
  const text = (field: number) => fields.get(field)?.toString('latin1')
  const [appId, type, environment] = [text(FIELD.appId), text(FIELD.type), text(FIELD.environment)]
  const [certificate, clientDataHash] = [fields.get(FIELD.certificate), fields.get(FIELD.clientDataHash)]
  const [createdAt, expiresAt] = [instantOf(text(FIELD.createdAt)), instantOf(text(FIELD.expiresAt))]
  if (appId === undefined || type === undefined || environment === undefined) return undefined
  if (certificate === undefined || clientDataHash === undefined || createdAt === undefined || expiresAt === undefined) return undefined
  return { appId, certificate, clientDataHash, type, environment, createdAt, riskMetric: text(FIELD.riskMetric), expiresAt }
}

function instantOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text)) return undefined
  const instant = Date.parse(text)
  return Number.isNaN(instant) ? undefined : instant
}
