import { readFileSync } from 'node:fs'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'

/**
 * The content of a file that an operator names. `-` is standard input, which the shell of the
 * operator opens: the account of a service can rarely read the operator's home.
 *
 * @throws {OperatorError} if it cannot be read
 */
export function readGiven(file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file)
  } catch (cause) {
    const isForbidden = (cause as NodeJS.ErrnoException).code === 'EACCES'
    const remedy = isForbidden
      ? ` by this account. Let your shell open it: name the file -, and add < ${file}`
      : ''
    throw new OperatorError(`${file} cannot be read${remedy}`, { code: 'invalid', cause })
  }
}

/** Its text. */
export const textOf = (file: string) => readGiven(file).toString('utf8')
