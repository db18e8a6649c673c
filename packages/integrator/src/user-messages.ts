import type { RejectReason as ContractRejectReason, ReviewReason } from '@bonded/contract'

/** Why a submit is rejected: the contract's reasons, and a bond that was used already. */
export type RejectReason = ContractRejectReason | 'already_used'

/**
 * The next step for the user of the form, by reason. None reveals which check failed, or by how
 * much.
 */
const SENTENCES: Record<RejectReason | ReviewReason, string> = {
  session_missing:
    'Approve this with your phone first: choose Continue, scan the QR code, and approve.',
  session_unavailable:
    'We could not confirm your approval. Wait a moment, then continue again for a new QR code.',
  session_not_bonded:
    'Your phone has not approved this, or its approval is over. Continue again and approve on your phone.',
  tenant_suspended:
    'We cannot confirm your approval. Nothing was done. Please contact us, because trying again will not help.',
  workflow_mismatch: 'That approval was for something else. Continue again and approve this form.',
  action_mismatch: 'That approval was for another step. Continue again and approve this form.',
  session_expired: 'The request expired. Continue again for a new QR code.',
  session_not_ours:
    'That approval was not started from this sign-in. Continue again here and approve with your phone.',
  one_of_several:
    'Several people must approve this. Nothing was done. Please contact us, because trying again will not help.',
  tenant_mismatch:
    'That approval was not made for us. Continue again here and approve with your phone.',
  verification_missing:
    'Your phone gave no proof with its approval. Continue again and approve on your phone.',
  device_not_possessed:
    'We could not confirm your phone. Continue again and approve with the phone you carry.',
  local_auth_not_verified:
    'Your phone did not confirm that it was you. Continue again and unlock with your fingerprint, face, or PIN when asked.',
  passport_chip_missing:
    'This needs the chip of your passport. Continue again and hold your passport to your phone when asked.',
  context_mismatch:
    'The form changed after you approved it. Check it, then continue again and approve the new version.',
  context_missing:
    'Your approval could not be matched with this form. Nothing was done. Please contact us, because trying again will not help.',
  browser_not_proved: 'This browser was not confirmed. Reload the page and start again.',
  subject_mismatch:
    'That phone is not the one we know for you. Continue again with your own phone.',
  already_used:
    'This approval has already been used. Check whether your request arrived before you start a new one.',
  low_confidence:
    'Our staff will review your request, because your phone could not be confirmed well enough.',
  sim_swap_recent:
    'Our staff will review your request, because the SIM of your phone changed recently.',
  low_continuity:
    'Our staff will review your request, because your phone was not held long enough to be sure.',
}

/**
 * The plain sentence for a reason: the next step, fit to show to the user.
 *
 * @example adviceFor('session_expired') // 'The request expired. Continue again for a new QR code.'
 */
export function adviceFor(reason: RejectReason | ReviewReason): string {
  return SENTENCES[reason]
}

/** Every reason that a verdict can carry, rejections first. */
export const VERDICT_REASONS = Object.keys(SENTENCES) as readonly (RejectReason | ReviewReason)[]
