/** What npm prints where it reaches no registry. */
export const NO_REGISTRY =
  /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH)\b/
