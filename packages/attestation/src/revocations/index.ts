export {
  type FetchText,
  googleRevocations,
  REVOCATION_GRACE_MS,
  type RevocationList,
  type RevocationSource,
} from './google-revocations.ts'
