import type { ProofSetup } from './open-proof.ts'
import type { ScreenText } from '../messages/messages.ts'
import english from './messages/en.json' with { type: 'json' }

/**
 * The texts of the browser's proof, in the same languages as those of the widget. They are files of
 * their own, because most pages need none of them.
 */
export interface ProofTexts {
  /** The button, on a computer and on a device with a touch screen. */
  readonly confirm: string
  readonly confirmTouch: string
  readonly browser: ScreenText
  readonly browser_again: ScreenText
  /** Replaces the body of `browser_again` after the service rejected a proof. */
  readonly wrongPasskey: string
  readonly browser_unsupported: ScreenText
}

/** The texts in the language of the widget, or in English, which is in this code. */
export async function loadProofTexts({
  language,
  loadMembers,
  unpack,
}: Pick<ProofSetup, 'language' | 'loadMembers' | 'unpack'>): Promise<ProofTexts> {
  const { proof } = await language
  try {
    if (proof) return unpack<ProofTexts>(english, await loadMembers(proof.url, proof.integrity))
  } catch (cause) {
    console.warn('Pulse: the language could not be loaded.', cause)
  }
  return english
}
