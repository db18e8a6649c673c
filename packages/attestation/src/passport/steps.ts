/**
 * The checks of passive authentication, in order. `algorithm_unsupported` occurs at either
 * signature: neither this package nor the runtime has its algorithm, so the document is neither
 * genuine nor forged.
 */
export type PassiveAuthenticationStep =
  | 'sod_unwrap'
  | 'sod_signed_data'
  | 'sod_certificate'
  | 'lds_security_object'
  | 'message_digest'
  | 'sod_signature'
  | 'algorithm_unsupported'
  | 'csca_unknown'
  | 'dsc_signature'
  | 'dsc_usage'
  | 'dsc_validity'
  | 'dg_hash'
  | 'dg1_missing'
  | 'mrz'
  | 'country'
  | 'expired'

/** Why a genuine document is not proved to be the original chip. */
export type ActiveAuthenticationStep =
  | 'aa_not_sent'
  | 'dg15_not_listed'
  | 'dg15'
  | 'algorithm_unsupported'
  | 'dg14_not_listed'
  | 'aa_algorithm'
  | 'aa_signature'
