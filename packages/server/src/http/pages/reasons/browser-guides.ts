import { guides } from './guide.ts'

/** The guides of the reasons about the proof of the browser. */
export const BROWSER_REASON_GUIDES = {
  ...guides('corrected', {
    browser_key_required: [
      'The workflow requires the browser. The key of this app cannot answer there, and the app has registered no browser key.',
      'Create a discoverable passkey, claim with `browser_key: true`, and send the passkey with the approval. An app that cannot do so tells the user to open the link on the phone page.',
    ],
    browser_key_invalid: [
      'The passkey for the browser has another challenge, relying party id, or origin, was created without user verification, or has an attestation. The timeline has the step.',
      'Create it for `rp_id` and the challenge of `POST /devices/challenges`, with user verification and without an attestation. Publish the app association files, so that the app may use this relying party id.',
    ],
    browser_proof_invalid: [
      'The assertion of the browser fails a check: its challenge, origin, credential, signature or counter. The timeline names the check.',
      'Confirm again with a passkey of the phone that approved. After eight failures the phone must approve again.',
    ],
  }),
}
