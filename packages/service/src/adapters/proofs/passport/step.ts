/** The checks of passive authentication, in their order: each refuses with its own word. Any of them means tier `none`. */
export type PassiveStep =
  | 'encoding'
  | 'sod_unwrap'
  | 'sod_signed_data'
  | 'sod_certificate'
  | 'lds_security_object'
  | 'message_digest'
  | 'sod_signature'
  | 'csca_unknown'
  | 'dsc_signature'
  | 'dsc_usage'
  | 'dsc_validity'
  | 'dg_hash'
  | 'dg1_missing'
  | 'mrz'
  | 'country'
  | 'expired'

/** Why a document that is genuine is not shown to be the original: tier `document`, not `chip`. */
export type ActiveStep =
  | 'aa_not_sent'
  | 'dg15_not_listed'
  | 'dg15'
  | 'dg14_not_listed'
  | 'aa_algorithm'
  | 'aa_signature'

/** What a check found, or the word of the check that refused. */
export type Checked<T, Step extends string> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly step: Step }

export function found<T>(value: T): { readonly ok: true; readonly value: T } {
  return { ok: true, value }
}

export function no<Step extends string>(step: Step): { readonly ok: false; readonly step: Step } {
  return { ok: false, step }
}
