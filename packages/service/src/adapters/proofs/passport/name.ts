import { type Element, TAG } from '../der/element.ts'
import { idOf, inside, sequence } from './ber.ts'

/** The name of a certificate's subject or issuer. */
export interface Name {
  /** Equal for equal names: states write the issuer in other string types and cases than the issuer its own name. */
  readonly canonical: string
  /** Two letters, upper case. */
  readonly country: string | undefined
}

const COUNTRY = '550406'
const BMP_STRING = 0x1e

/** RFC 5280, section 7.1: compared without case, and without spaces that carry nothing. */
export function nameOf(element: Element | undefined): Name | undefined {
  const parts = sequence(element).map((part) => inside(part, TAG.set).map(attributeOf))
  if (parts.length === 0 || parts.some((attributes) => attributes.length === 0)) return undefined
  const attributes = parts.flat()
  if (attributes.some(({ type }) => type === '')) return undefined
  return {
    canonical: JSON.stringify(parts.map((part) => part.map(({ type, value }) => `${type}=${value.toLowerCase()}`).sort())),
    country: attributes.find(({ type }) => type === COUNTRY)?.value.toUpperCase(),
  }
}

function attributeOf(element: Element): { type: string; value: string } {
  const [type, value] = sequence(element)
  return { type: value === undefined ? '' : idOf(type), value: textOf(value) }
}

function textOf(value: Element | undefined): string {
  if (value === undefined) return ''
  const text =
    value.tag === BMP_STRING && value.content.length % 2 === 0
      ? Buffer.from(value.content).swap16().toString('utf16le')
      : value.content.toString('utf8')
  return text.trim().replaceAll(/\s+/g, ' ')
}
