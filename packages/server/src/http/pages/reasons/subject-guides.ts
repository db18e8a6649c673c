import { guides } from './guide.ts'

/** The guides of the reasons of what a tenant does with its users and its webhooks as a whole. */
export const SUBJECT_REASON_GUIDES = {
  ...guides('no', {
    subject_not_found: [
      'The `subject_ref` is of another tenant or another environment, is mistyped, or the user has never bonded a session of this tenant.',
      'Use the `subject_ref` of a session of this tenant that was bonded.',
    ],
    unscoped_credential_required: [
      'The operator created the server credential for some workflows or actions only.',
      'Use a server credential that was created without `--workflow`, or ask the operator for one.',
    ],
  }),
}
