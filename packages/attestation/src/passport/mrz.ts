import type { Instant } from '../environment.ts'

/** The parsed fields of a machine-readable zone. Names and date of birth are not returned. */
export interface Mrz {
  /** The code as printed, without fillers: `D`, `NLD`, `RKS`. */
  readonly issuingState: string
  readonly documentNumber: string
  /** The document can be used before this instant. */
  readonly expiresAt: Instant
}

/** Positions of the fields (Doc 9303-4, -5, -6), as ranges of the text without line breaks. */
interface Format {
  readonly length: number
  readonly state: Range
  readonly number: Range
  readonly birth: Range
  readonly expiry: Range
  /** The optional data that continues a long document number. TD3 has none. */
  readonly overflow?: Range
  /** Optional data with its own check digit. */
  readonly personalNumber?: Range
  /** Ranges that the composite check digit covers, and its position. */
  readonly composite: readonly Range[]
  readonly compositeIndex: number
}
type Range = readonly [from: number, to: number]

const FORMATS: readonly Format[] = [
  // TD1: three lines of 30.
  {
    length: 90,
    state: [2, 5],
    number: [5, 14],
    overflow: [15, 30],
    birth: [30, 36],
    expiry: [38, 44],
    composite: [
      [5, 30],
      [30, 37],
      [38, 45],
      [48, 59],
    ],
    compositeIndex: 59,
  },
  // TD2: two lines of 36.
  {
    length: 72,
    state: [2, 5],
    number: [36, 45],
    overflow: [64, 71],
    birth: [49, 55],
    expiry: [57, 63],
    composite: [
      [36, 46],
      [49, 56],
      [57, 71],
    ],
    compositeIndex: 71,
  },
  // TD3: two lines of 44.
  {
    length: 88,
    state: [2, 5],
    number: [44, 53],
    birth: [57, 63],
    expiry: [65, 71],
    personalNumber: [72, 86],
    composite: [
      [44, 54],
      [57, 64],
      [65, 87],
    ],
    compositeIndex: 87,
  },
]

/** Parses a zone. Undefined for a text of another form, and for a wrong check digit. */
export function readMrz(text: string): Mrz | undefined {
  const format = FORMATS.find(({ length }) => length === text.length)
  if (format === undefined || !/^[0-9A-Z<]+$/.test(text)) return undefined
  const field = ([from, to]: Range) => text.slice(from, to)
  const digitAfter = ([, to]: Range) => text.charAt(to)

  const documentNumber = numberOf(text, format)
  const { birth, expiry, personalNumber } = format
  const whole = format.composite.map(field).join('')
  const isValid =
    documentNumber !== undefined &&
    digitAfter(birth) === checkDigit(field(birth)) &&
    digitAfter(expiry) === checkDigit(field(expiry)) &&
    (personalNumber === undefined ||
      isValidOptional(field(personalNumber), digitAfter(personalNumber))) &&
    text.charAt(format.compositeIndex) === checkDigit(whole)
  const expiresAt = endOf(field(expiry))
  const issuingState = field(format.state).replace(/<+$/, '')
  return isValid && expiresAt !== undefined && /^[A-Z]{1,3}$/.test(issuingState)
    ? { issuingState, documentNumber, expiresAt }
    : undefined
}

/** Returns the document number. Undefined if its check digit is wrong. */
function numberOf(text: string, { number, overflow }: Format): string | undefined {
  const [from, to] = number
  const first = text.slice(from, to)
  const digit = text.charAt(to)
  if (digit !== '<') return digit === checkDigit(first) ? withoutFillers(first) : undefined
  // Doc 9303-5, 4.2.4: a filler instead of the digit means that the number continues in the
  // optional data, with its check digit at the end.
  const [continued = ''] = overflow === undefined ? [] : text.slice(...overflow).split('<')
  const long = first + continued.slice(0, -1)
  return continued.length >= 2 && continued.endsWith(checkDigit(long)) ? long : undefined
}

function withoutFillers(number: string): string | undefined {
  const bare = number.replace(/<+$/, '')
  return bare === '' ? undefined : bare
}

/** An empty personal number may have a filler as its check digit. */
function isValidOptional(value: string, digit: string): boolean {
  return digit === checkDigit(value) || (digit === '<' && /^<+$/.test(value))
}

const WEIGHTS = [7, 3, 1] as const

/**
 * Doc 9303-3, section 4.9: digits have their own value, letters start at 10, fillers are 0. The
 * weights are 7, 3, 1 and the sum is taken modulo 10.
 */
function checkDigit(text: string): string {
  let sum = 0
  for (let index = 0; index < text.length; index++)
    sum += valueOf(text.charCodeAt(index)) * (WEIGHTS[index % 3] ?? 0)
  return String(sum % 10)
}

function valueOf(code: number): number {
  if (code >= 0x41) return code - 0x41 + 10
  return code >= 0x30 && code <= 0x39 ? code - 0x30 : 0
}

const DAY_MS = 86_400_000
/** The expiry day ends last at UTC-12. */
const WESTERNMOST_MS = 12 * 3_600_000

/** Returns the end of an expiry date. Documents with a chip are all from this century. */
function endOf(date: string): Instant | undefined {
  const [, year, month, day] = /^(\d\d)(\d\d)(\d\d)$/.exec(date) ?? []
  const start = Date.parse(`20${year}-${month}-${day}T00:00:00Z`)
  // Date.parse accepts 31 February as a day in March.
  const exists = !Number.isNaN(start) && new Date(start).getUTCDate() === Number(day)
  return exists ? start + DAY_MS + WESTERNMOST_MS : undefined
}
