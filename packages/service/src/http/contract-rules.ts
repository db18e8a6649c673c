import {
  areLabelsDistinct,
  canonicalIpAddress,
  DISPLAY_TEXT,
  DISTINCT_LABELS,
  IP_ADDRESS,
  isDisplayText,
} from '@bonded/contract'

/**
 * The contract rules that JSON Schema cannot express, as ajv formats and keywords. A violation
 * names its member, as a wrong type does.
 */
export const CONTRACT_RULES = {
  formats: {
    [DISPLAY_TEXT]: isDisplayText,
    // Protocol 1: one text for each instant. This rejects February 30 and leap seconds.
    'date-time': (text: string) => {
      const instant = Date.parse(text)
      return !Number.isNaN(instant) && new Date(instant).toISOString() === text
    },
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
