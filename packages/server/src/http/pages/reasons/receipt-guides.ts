import { guides } from './guide.ts'

/** The guides of the reasons of receipts. */
export const RECEIPT_REASON_GUIDES = {
  ...guides('corrected', {
    browser_secret_mismatch: [
      'The workflow requires the browser, and the header is missing or has the secret of another browser.',
      'Send the secret that the form brought. Fetch the receipt when you complete the session, and store it.',
    ],
  }),
  ...guides('unchanged', {
    signer_unavailable: [
      'The program that signs receipts fails, or does not respond in time.',
      'Retry. The operator finds the failure of the program in the log. The service makes the receipt as soon as the program works.',
    ],
  }),
  ...guides('no', {
    receipts_disabled: [
      'The operator has not set `BONDED_RECEIPT_KEYS`.',
      'Ask the operator to set it. Sessions that bonded before have no receipt, and then return `bonded_without_receipt`.',
    ],
    bonded_without_receipt: [
      'When the user approved, the node ran a version without receipts, or without `BONDED_RECEIPT_KEYS`. It did not store what the phone signed, so a receipt cannot be made later.',
      'Complete the session as usual: the approval is valid. For a receipt, ask the user to approve a new session.',
    ],
  }),
}
