/** All words of the frame, in English. The other languages have the same keys. */
export const en = {
  title: 'Confirm in this browser',
  request: '{tenant}: {action}',
  hint: 'Your browser may show a QR code of its own. Scan it with the same phone.',
  confirm: 'Confirm',
  confirming: 'Waiting for your passkey …',
  retry: 'Not confirmed. Use the passkey of the phone that approved.',
  offline: 'No connection. Try again.',
  done: 'Confirmed',
  ended: 'This request can no longer be confirmed here. See the page around this box.',
  unsupported: 'This browser cannot use passkeys here. Open the page on your phone.',
  misplaced: 'This box works only in the page of the organization that asks.',
}

export type Words = Readonly<Record<keyof typeof en, string>>

/** The words of each language but English, by its tag. The build inserts them. */
declare const BONDED_FRAME_WORDS: Readonly<Record<string, Words>>

export function wordsOf(tag: string): Words {
  return Object.hasOwn(BONDED_FRAME_WORDS, tag) ? (BONDED_FRAME_WORDS[tag] ?? en) : en
}
