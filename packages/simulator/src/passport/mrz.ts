/** The fields of a machine-readable zone. */
export interface MrzOptions {
  readonly format?: 'TD1' | 'TD2' | 'TD3'
  readonly issuingState?: string
  readonly documentNumber?: string
  /** YYMMDD. */
  readonly birth?: string
  readonly expiry?: string
  readonly personalNumber?: string
}

const LINE = { TD1: 30, TD2: 36, TD3: 44 } as const

/** Creates a zone with its check digits (Doc 9303-4, -5, -6), without line breaks. */
export function createMrz(options: MrzOptions = {}): string {
  const {
    format = 'TD3',
    issuingState = 'UTO',
    documentNumber = 'L898902C3',
    birth = '740812',
    expiry = '340415',
    personalNumber = '',
  } = options
  const line = LINE[format]
  const state = issuingState.padEnd(3, '<')
  const names = 'ERIKSSON<<ANNA<MARIA'
  const [number, rest] = numberFields(documentNumber, format)
  const dates = { birth: withDigit(birth), expiry: withDigit(expiry) }
  if (format === 'TD1') {
    const first = `I<${state}${number}${rest}`.padEnd(line, '<')
    const second = `${dates.birth}F${dates.expiry}${state}`.padEnd(line - 1, '<')
    const composite = first.slice(5) + second.slice(0, 7) + second.slice(8, 15) + second.slice(18)
    return first + second + digitOf(composite) + names.padEnd(line, '<')
  }
  const first = `${format === 'TD3' ? 'P' : 'I'}<${state}${names}`.padEnd(line, '<')
  const optional =
    format === 'TD3' ? withDigit(personalNumber.padEnd(14, '<')) : rest.padEnd(7, '<')
  const second = `${number}${state}${dates.birth}F${dates.expiry}${optional}`
  const composite = second.slice(0, 10) + second.slice(13, 20) + second.slice(21)
  return first + second + digitOf(composite)
}

/**
 * Returns nine characters and their check digit. A longer number has a filler as its digit and
 * continues in the optional data.
 */
function numberFields(number: string, format: keyof typeof LINE): readonly [string, string] {
  if (number.length <= 9 || format === 'TD3') return [withDigit(number.padEnd(9, '<')), '']
  return [`${number.slice(0, 9)}<`, `${number.slice(9)}${digitOf(number)}<`]
}

function withDigit(text: string): string {
  return text + digitOf(text)
}

function digitOf(text: string): string {
  const values = text
    .split('')
    .map((character) => (character === '<' ? 0 : Number.parseInt(character, 36)))
  return String(
    values.reduce((sum, value, index) => sum + value * ([7, 3, 1][index % 3] ?? 0), 0) % 10,
  )
}
