import type { Instant } from '../environment.ts'

/** What is read of a machine-readable zone. The names and the birth are left where they are. */
export interface Mrz {
  /** As printed, without fillers: `D`, `NLD`, `RKS`. */
  readonly issuingState: string
  readonly documentNumber: string
  /** The document can be used before this instant. */
  readonly expiresAt: Instant
}

/** Where the fields of a format stand (Doc 9303-4, -5, -6), as ranges of the text without line breaks. */
interface Format {
  readonly length: number
  readonly state: Range
  readonly number: Range
  readonly birth: Range
  readonly expiry: Range
  /** The optional data beside the document number, into which a long number runs over; TD3 has no such. */
  readonly overflow?: Range
  /** Optional data with a check digit of its own. */
  readonly personalNumber?: Range
  /** What the last check digit covers, and where it stands. */
  readonly composite: readonly Range[]
  readonly compositeAt: number
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
    compositeAt: 59,
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
    compositeAt: 71,
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
    compositeAt: 87,
  },
]

/** Reads and checks a zone; undefined for one with a wrong check digit, or none at all. */
export function readMrz(text: string): Mrz | undefined {
  const format = FORMATS.find(({ length }) => length === text.length)
  if (format === undefined || !/^[0-9A-Z<]+$/.test(text)) return undefined
  const field = ([from, to]: Range) => text.slice(from, to)
  const digitAfter = ([, to]: Range) => text.charAt(to)

  const documentNumber = numberOf(text, format)
  const { birth, expiry, personalNumber } = format
  const whole = format.composite.map(field).join('')
  const holds =
    documentNumber !== undefined &&
    digitAfter(birth) === checkDigit(field(birth)) &&
    digitAfter(expiry) === checkDigit(field(expiry)) &&
    (personalNumber === undefined ||
      holdsOptional(field(personalNumber), digitAfter(personalNumber))) &&
    text.charAt(format.compositeAt) === checkDigit(whole)
  const expiresAt = endOf(field(expiry))
  const issuingState = field(format.state).replace(/<+$/, '')
  return holds && expiresAt !== undefined && /^[A-Z]{1,3}$/.test(issuingState)
    ? { issuingState, documentNumber, expiresAt }
    : undefined
}

/** The document number, where its check digit holds. */
function numberOf(text: string, { number, overflow }: Format): string | undefined {
  const [from, to] = number
  const first = text.slice(from, to)
  const digit = text.charAt(to)
  if (digit !== '<') return digit === checkDigit(first) ? unfilled(first) : undefined
  // Doc 9303-5, 4.2.4: a filler in place of the digit says that the number goes on in the optional data, its digit at the end.
  const [rest = ''] = overflow === undefined ? [] : text.slice(...overflow).split('<')
  const long = first + rest.slice(0, -1)
  return rest.length >= 2 && rest.endsWith(checkDigit(long)) ? long : undefined
}

function unfilled(number: string): string | undefined {
  const bare = number.replace(/<+$/, '')
  return bare === '' ? undefined : bare
}

/** An empty personal number may have a filler for its digit. */
function holdsOptional(value: string, digit: string): boolean {
  return digit === checkDigit(value) || (digit === '<' && /^<+$/.test(value))
}

const WEIGHTS = [7, 3, 1] as const

/** Doc 9303-3, section 4.9: digits count themselves, letters from 10, fillers nothing; weights 7, 3, 1; modulo 10. */
function checkDigit(text: string): string {
  let sum = 0
  for (let at = 0; at < text.length; at++)
    sum += valueOf(text.charCodeAt(at)) * (WEIGHTS[at % 3] ?? 0)
  return String(sum % 10)
}

function valueOf(code: number): number {
  if (code >= 0x41) return code - 0x41 + 10
  return code >= 0x30 && code <= 0x39 ? code - 0x30 : 0
}

const DAY_MS = 86_400_000
/** The last day ends latest in the west of the Pacific's date line. */
const WESTERNMOST_MS = 12 * 3_600_000

/** The end of an expiry date. No document with a chip is older than this century. */
function endOf(date: string): Instant | undefined {
  const [, year, month, day] = /^(\d\d)(\d\d)(\d\d)$/.exec(date) ?? []
  const start = Date.parse(`20${year}-${month}-${day}T00:00:00Z`)
  // Date.parse takes the 31st of February for a day in March.
  const exists = !Number.isNaN(start) && new Date(start).getUTCDate() === Number(day)
  return exists ? start + DAY_MS + WESTERNMOST_MS : undefined
}
