import {
  areLabelsDistinct,
  canonicalIpAddress,
  DISPLAY_LINES,
  DISPLAY_TEXT,
  DISPLAY_VALUE,
  DISTINCT_LABELS,
  IP_ADDRESS,
  isDisplayLines,
  isDisplayText,
  isDisplayValue,
  parseInstant,
} from '@bonded/contract'

/**
 * The contract rules that JSON Schema cannot express, as ajv formats and keywords. A violation
 * names its member, as a wrong type does.
 */
export const CONTRACT_RULES = {
  formats: {
    [DISPLAY_TEXT]: isDisplayText,
    [DISPLAY_VALUE]: isDisplayValue,
    [DISPLAY_LINES]: isDisplayLines,
    // This rejects February 30 and leap seconds, which the patterns accept.
    'date-time': (text: string) => parseInstant(text) !== undefined,
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
