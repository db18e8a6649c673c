/** What an applicant requests, checked. The phone signs its digest. */
export interface LoanRequest {
  readonly name: string
  readonly amount_eur: number
  readonly purpose: string
  readonly term_months: number
  readonly income_eur: number
}

/** A sentence for each invalid field. */
export type FieldErrors = Partial<Record<FieldName, string>>

export type FieldName = 'name' | 'amount' | 'purpose' | 'term' | 'income'

export const PURPOSES: Readonly<Record<string, string>> = {
  home: 'Home improvement',
  car: 'A car',
  studies: 'Studies',
  debt: 'Paying off another loan',
  other: 'Something else',
}

export const TERMS_MONTHS = [12, 24, 36, 48, 60, 84]
export const AMOUNT_EUR = { min: 1_000, max: 50_000 }
const INCOME_EUR = { min: 0, max: 1_000_000 }
/** A phone shows a value of this length on one line without truncating it. */
const NAME_LENGTH = { min: 2, max: 80 }

/**
 * Returns the checked request, or the errors by field. The browser's own checks are only a
 * courtesy.
 */
export function parseLoanForm(
  form: Readonly<Record<string, unknown>>,
): { readonly request: LoanRequest } | { readonly errors: FieldErrors } {
  const name = text(form.name)
  const amount_eur = euros(form.amount)
  const purpose = text(form.purpose)
  const term_months = Number(text(form.term))
  const income_eur = euros(form.income)
  const errors: FieldErrors = {
    ...(!isName(name) && { name: 'Enter your full name as it appears in your passport.' }),
    ...(!within(amount_eur, AMOUNT_EUR) && {
      amount: `Enter an amount between ${formatEuros(AMOUNT_EUR.min)} and ${formatEuros(AMOUNT_EUR.max)}, in whole euros.`,
    }),
    ...(!Object.hasOwn(PURPOSES, purpose) && { purpose: 'Choose what the loan is for.' }),
    ...(!TERMS_MONTHS.includes(term_months) && {
      term: 'Choose how long you want to pay it back.',
    }),
    ...(!within(income_eur, INCOME_EUR) && {
      income: 'Enter what you earn in a month after tax, in whole euros.',
    }),
  }
  return Object.keys(errors).length > 0
    ? { errors }
    : { request: { name, amount_eur, purpose, term_months, income_eur } }
}

/** What the phone shows before it signs: the bank's own record in the applicant's words. */
export function displayOf(request: LoanRequest): { label: string; value: string }[] {
  return [
    { label: 'Amount', value: formatEuros(request.amount_eur) },
    { label: 'Term', value: `${request.term_months} months` },
    { label: 'Applicant', value: request.name },
  ]
}

/** @example formatEuros(12500) // '€12,500' */
export function formatEuros(euros: number): string {
  return `€${euros.toLocaleString('en-GB')}`
}

function text(value: unknown): string {
  return typeof value === 'string' ? value.normalize('NFC').trim().replaceAll(/\s+/g, ' ') : ''
}

/** Applicants write 12500, 12,500 and 12 500. An amount with a fraction is invalid. */
function euros(value: unknown): number {
  const digits = text(value)
    .replace(/^€\s*/, '')
    .replaceAll(/(?<=\d)[,  ](?=\d{3}(\D|$))/g, '')
  return /^\d{1,9}$/.test(digits) ? Number(digits) : Number.NaN
}

function within(value: number, { min, max }: { min: number; max: number }): boolean {
  return value >= min && value <= max
}

/**
 * Allows letters, marks, spaces and a few signs: nothing that could hide or reorder what the phone
 * shows.
 */
function isName(name: string): boolean {
  return (
    name.length >= NAME_LENGTH.min &&
    name.length <= NAME_LENGTH.max &&
    /^[\p{L}\p{M}][\p{L}\p{M}\p{Nd} .,'’-]*$/u.test(name)
  )
}
