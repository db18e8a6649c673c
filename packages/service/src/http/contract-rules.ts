import {
  areLabelsDistinct,
  canonicalIpAddress,
  DISPLAY_TEXT,
  DISTINCT_LABELS,
  IP_ADDRESS,
  isDisplayText,
} from '@bonded/contract'

/**
 * The rules of the contract that JSON Schema cannot express, for ajv. They are part of a request's
 * shape: a violation names its member, like a wrong type does.
 */
export const CONTRACT_RULES = {
  formats: {
    [DISPLAY_TEXT]: isDisplayText,
    [IP_ADDRESS]: (text: string) => canonicalIpAddress(text) !== undefined,
  },
  keywords: [
    {
      keyword: DISTINCT_LABELS,
      type: 'array' as const,
      schemaType: 'boolean' as const,
      validate: (_distinct: boolean, display: readonly { readonly label: string }[]) =>
        areLabelsDistinct(display),
    },
  ],
}
