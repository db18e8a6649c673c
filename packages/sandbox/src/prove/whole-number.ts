import { InvalidArgumentError } from 'commander'

/** Parses an option that is a number from 1 to `most`. */
export function wholeNumber(most: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (!Number.isInteger(number) || number < 1 || number > most)
      throw new InvalidArgumentError(`Expected a whole number from 1 to ${most}.`)
    return number
  }
}
