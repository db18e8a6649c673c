const MAX_AMOUNT_LENGTH = 32
/** A sign of a currency, its code, or an abbreviation that a country writes in its place. */
const CURRENCY =
  /[A-Z]{0,3}\p{Sc}[A-Z]{0,3}|(?<![\p{L}.])(?:[A-Z]{3}|[NID]?kr|Kč|zł|Ft|lei|Lekë|Rs|лв|元|ریال|\p{L}\.\p{L})\.?(?!\p{L})/u
/** What else an amount consists of. */
const FIGURES = /^[\p{Nd}\s.,'’٫٬+\-−\u200e\u200f\u061c]*$/u

/** Whether a value is an amount of money, as a bank or `Intl` writes it. */
export function isAmount(value: string): boolean {
  const rest = value.replace(CURRENCY, '')
  return (
    value.length <= MAX_AMOUNT_LENGTH &&
    rest !== value &&
    /\p{Nd}/u.test(value) &&
    FIGURES.test(rest)
  )
}
