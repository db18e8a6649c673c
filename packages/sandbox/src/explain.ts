import { type Explained, explain as explainOperator } from '@bonded/cli/program/explain'
import { escapeHidden } from '@bonded/contract'
import { PhoneError } from '@bonded/simulator'
import { explainPhone } from './phone/explain-phone.ts'

/** Explains a failure to the operator: of the simulated phone, or of a command of the operator. */
export function explain(failure: unknown): Explained {
  return failure instanceof PhoneError
    ? { code: failure.code, message: escapeHidden(explainPhone(failure)), usage: false }
    : explainOperator(failure)
}
